import FaultProfile
import Units

/// Bytes that are put into a stream, once: at an offset, or behind the first pattern that is found while the fault is on.
struct InsertStage: AlteringStage {
    static let inserts = true

    private enum State {
        /// At an offset of the link.
        case at(Int64)
        /// No pattern has been found.
        case searching
        /// Behind so many bytes of the source.
        case found(Int64)
        case over
    }

    private let bytes: [UInt8]
    private let fault: Int
    private var state: State

    /// The insertion of the fault of index `fault`, by which its patterns are named.
    init(_ insert: Insert, fault: Int) {
        bytes = insert.bytes
        self.fault = fault
        switch insert.position {
        case .at(let offset): state = .at(offset.bytes)
        case .pattern: state = .searching
        }
    }

    mutating func note(_ mark: Mark) {
        if case .searching = state, case .pattern(fault, let end) = mark { state = .found(end) }
    }

    func next(vanished: Int64) -> Int64 {
        switch state {
        case .at(let offset): offset
        case .found(let end): end - vanished
        case .searching, .over: .max
        }
    }

    mutating func alter(index: Int64, available: Int64) -> Altered {
        state = .over
        return Altered(alteration: .insert(index: index, bytes: bytes), told: Altered.Effect(effect: .inserts))
    }

    /// An offset comes once; the next pattern may be found while the fault is on.
    mutating func miss() {
        switch state {
        case .found, .searching: state = .searching
        case .at, .over: state = .over
        }
    }

    /// A pattern whose last byte vanished is followed by what is left.
    mutating func vanished(_ range: Range<Int64>) {
        if case .found(let end) = state, range.contains(end) { state = .found(range.upperBound) }
    }
}

extension Insert: PlannedFault {
    func alterer(in place: StagePlace) -> Alterer? { .insert(InsertStage(self, fault: place.fault)) }
}
