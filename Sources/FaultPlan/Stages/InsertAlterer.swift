import FaultProfile
import Units

/// Inserts bytes once: at an offset, or after the first pattern found while the fault is on.
struct InsertAlterer: StreamAlterer {
    static let inserts = true

    private enum State {
        /// At an offset of the link.
        case at(Int64)
        /// Waiting for the pattern.
        case searching
        /// After a pattern that ends at this source offset.
        case found(Int64)
        case over
    }

    private let bytes: [UInt8]
    private let fault: Int
    private var state: State

    /// `fault` identifies the fault's pattern in marks.
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
        return Altered(alteration: .insert(index: index, bytes: bytes), reported: Altered.Effect(effect: .inserts))
    }

    /// An offset comes once; a later pattern may come while the fault is on.
    mutating func miss() {
        switch state {
        case .found, .searching: state = .searching
        case .at, .over: state = .over
        }
    }

    /// Moves an insertion at `offset` after the `count` bytes that another one has inserted there.
    mutating func inserted(_ count: Int64, at offset: Int64) {
        if case .at(offset) = state { state = .at(offset + count) }
    }

    /// Moves the insertion after removed bytes.
    mutating func vanished(_ range: Range<Int64>) {
        if case .found(let end) = state, range.contains(end) { state = .found(range.upperBound) }
    }
}

extension Insert: PlannedFault {
    func alterer(in place: StagePlace) -> Alterer? { .insert(InsertAlterer(self, fault: place.fault)) }
}
