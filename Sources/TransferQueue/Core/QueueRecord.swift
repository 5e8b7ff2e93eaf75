/// A record of the queue's log. The last record of a job counts.
package enum QueueRecord: Hashable, Sendable, Codable {
    /// The next numbers, at the beginning of a rewritten log.
    case numbers(QueueNumbers)
    /// A job, as it is from now on.
    case job(QueueJob)
}

extension QueueState {
    /// Takes over a record.
    package mutating func apply(_ record: QueueRecord) {
        switch record {
        case .numbers(let numbers): advance(to: numbers)
        case .job(let job): put(job)
        }
    }

    /// The fewest records that lead to this state.
    package var records: [QueueRecord] {
        [.numbers(next)] + jobs.values.sorted { $0.id < $1.id }.map { .job($0) }
    }
}
