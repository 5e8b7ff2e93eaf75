import DequeModule
import FaultProfile
import Units

/// Ends the stream of requests before one that the proxy answers.
struct HTTPStage: FaultStage {
    private let filter: MessageFilter
    /// The selected requests that haven't been passed.
    private var requests: Deque<(position: Int64, number: Int64)> = []
    private var answered: (position: Int64, number: Int64)?

    init(_ filter: MessageFilter) {
        self.filter = filter
    }

    var rememberedPositions: Int { requests.count }

    mutating func note(_ mark: Mark) {
        guard case .message(let message, let position) = mark, filter.selects(message) else { return }
        requests.append((position, message.request))
    }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        if answered == nil {
            while let first = requests.first, first.position < context.passed { requests.removeFirst() }
            guard context.isActive, let first = requests.first, progress.bytes >= first.position else {
                return progress
            }
            answered = first
        }
        guard let answered else { return progress }
        context.answer = answered
        return StreamProgress(position: answered.position + 1, availableEnd: answered.position + 1, hasEnded: true)
    }
}

/// Drops informational responses.
struct DroppedResponses: StreamAlterer {
    static let drops = true

    private let codes: StatusSelection
    private let filter: MessageFilter
    /// The source ranges to drop, in order, with their requests.
    private var intervals: Deque<(range: Range<Int64>, request: Int64)> = []
    private var begun: (position: Int64, request: Int64)?

    init(_ codes: StatusSelection, _ condition: HTTPCondition?, key: RandomKey) {
        self.codes = codes
        var condition = condition ?? HTTPCondition()
        condition.status = condition.status ?? codes
        filter = MessageFilter(condition, key: key)
    }

    mutating func note(_ mark: Mark) {
        switch mark {
        case .message(let message, let position):
            guard let status = message.status, codes.range.contains(status), status != 101, filter.selects(message)
            else { return }
            begun = (position, message.request)
        case .end(let position):
            if let begun { intervals.append((begun.position..<position, begun.request)) }
            begun = nil
        case .body, .unreadable, .pattern:
            break
        }
    }

    func next(vanished: Int64) -> Int64 { intervals.first.map { $0.range.lowerBound - vanished } ?? .max }

    mutating func alter(index: Int64, available: Int64) -> Altered {
        guard let first = intervals.first else { preconditionFailure("no response is to vanish here") }
        let count = min(Int64(first.range.count), available)
        let rest = first.range.lowerBound + count..<first.range.upperBound
        if rest.isEmpty { intervals.removeFirst() } else { intervals[0].range = rest }
        let place = MessagePlace(base: .connection, request: first.request)
        return Altered(
            alteration: .drop(index: index, count: count),
            reported: Altered.Effect(effect: .drops, request: place)
        )
    }

    mutating func vanished(_ range: Range<Int64>) {
        while let first = intervals.first, range.contains(first.range.lowerBound) {
            if range.upperBound < first.range.upperBound {
                intervals[0].range = range.upperBound..<first.range.upperBound
            } else {
                intervals.removeFirst()
            }
        }
    }

    mutating func miss() { intervals.removeFirst() }
}

extension HTTPFault: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        switch self {
        case .answer: (.end, .http(HTTPStage(place.filter)))
        case .drop: nil
        }
    }

    func alterer(in place: StagePlace) -> Alterer? {
        switch self {
        case .answer: nil
        case .drop(let codes): .drop(DroppedResponses(codes, place.filter.condition, key: place.key))
        }
    }
}
