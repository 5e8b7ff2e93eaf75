import OperatingSystem
import Synchronization
import Units

/// The reader of one event stream. It gets a part when it asks for one, so no part waits in memory for a slow reader.
actor EventReader {
    /// The time between looks for events: 50 ms. Recording an event wakes no reader, and a burst makes one part.
    static let pollInterval = Duration.milliseconds(50)

    private let api: V1API
    private let slot: StreamSlots.Slot
    private let client: ClientPresence
    private var cursor: EventCursor
    private var hasBegun = false

    /// A reader for `client`, in whose place another one may come as soon as it is gone.
    init(_ api: V1API, _ slot: StreamSlots.Slot, _ cursor: EventCursor, for client: ClientPresence) {
        self.api = api
        self.slot = slot
        self.client = client
        self.cursor = cursor
        client.whenGone { slot.free() }
    }

    /// The next part; waits until there is one. `nil` when the server stops or the reader is gone.
    func next() async -> [UInt8]? {
        guard hasBegun else {
            hasBegun = true
            return Array(cursor.beginning.utf8)
        }
        while !api.journal.notices.isStopped, !client.isGone, !Task.isCancelled {
            let isDue = cursor.takesSample(at: MonotonicClock.now)
            let sample = isDue ? await api.samples.sample(of: api.proxies) : nil
            let part = cursor.part(at: MonotonicClock.now, sample: sample)
            if !part.isEmpty { return Array(part.utf8) }
            try? await Task.sleep(for: EventReader.pollInterval)
        }
        slot.free()
        return nil
    }
}

/// Limits the number of event streams.
final class StreamSlots: Sendable {
    /// The most event streams at a time: 64.
    static let limit = 64

    private let count = Mutex(0)

    /// The place of one stream; free again when it is released.
    final class Slot: Sendable {
        private let slots: StreamSlots
        private let isTaken = Mutex(true)

        fileprivate init(_ slots: StreamSlots) { self.slots = slots }

        /// Frees the place. Calling it twice is fine.
        func free() {
            let wasTaken = isTaken.withLock { isTaken in
                defer { isTaken = false }
                return isTaken
            }
            if wasTaken { slots.count.withLock { $0 -= 1 } }
        }

        deinit { free() }
    }

    /// A place; throws if none is free.
    func take() throws(ControlError) -> Slot {
        try count.withLock { count throws(ControlError) in
            guard count < StreamSlots.limit else {
                throw .limit("the server has at most \(StreamSlots.limit) event streams")
            }
            count += 1
        }
        return Slot(self)
    }
}
