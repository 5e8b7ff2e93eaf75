import FaultProfile

/// A queue of transfers that the page shows.
package struct QueueSource: Sendable {
    let name: String
    let jobs: @Sendable () async throws -> [JSONText]

    /// The queue called `name`, whose jobs `jobs` gives.
    package init(name: String, jobs: @escaping @Sendable () async throws -> [JSONText]) {
        (self.name, self.jobs) = (name, jobs)
    }
}

extension V1API {
    func listJobs(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        guard let queue else { return .json(.object([("name", .null), ("jobs", .array([]))])) }
        do {
            return .json(.object([("name", .text(queue.name)), ("jobs", .array(try await queue.jobs()))]))
        } catch {
            throw .conflict("the queue can't be read: \(error)")
        }
    }
}
