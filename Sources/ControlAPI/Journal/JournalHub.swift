import FaultPlan
import OperatingSystem
import Synchronization
import Units

/// The last events of all proxies, numbered, for readers that come and go.
package final class JournalHub: Sendable {
    /// An event with its number, from 1.
    package struct Event: Sendable {
        package let id: UInt64
        package let entry: JournalEntry
    }

    /// The events that are kept: 10,000.
    package static let capacity = 10_000

    private struct State {
        /// A ring, in which the event of a number has a fixed place.
        var ring: [Event] = []
        var next: UInt64 = 1
    }

    private let state = Mutex(State())
    /// Changes and problems, besides the events.
    package let notices = Notices()
    /// The moment from which on the numbers count.
    let start = MonotonicClock.now

    /// Called with every event, on the thread of the fault.
    private let observer: @Sendable (JournalEntry) -> Void

    /// An empty journal.
    ///
    /// - Parameter observer: called with every event, on the thread of its fault.
    package init(observer: @escaping @Sendable (JournalEntry) -> Void = { _ in }) { self.observer = observer }

    /// Adds an event. Callable from any thread; never waits for a reader.
    func record(_ entry: JournalEntry) {
        observer(entry)
        state.withLock { state in
            let event = Event(id: state.next, entry: entry)
            if state.ring.count < JournalHub.capacity {
                state.ring.append(event)
            } else {
                state.ring[Int((event.id - 1) % UInt64(JournalHub.capacity))] = event
            }
            state.next += 1
        }
    }

    /// The events after the one numbered `id`, oldest first, at most `limit`, and the number of events in between that
    /// are no longer kept.
    func events(after id: UInt64, limit: Int) -> (events: [Event], lost: UInt64) {
        state.withLock { state in
            let oldest = state.next - UInt64(state.ring.count)
            let first = max(id &+ 1, oldest)
            guard first < state.next else { return ([], 0) }
            let last = min(state.next, first + UInt64(max(0, limit)))
            let events = (first..<last).map { state.ring[Int(($0 - 1) % UInt64(JournalHub.capacity))] }
            return (events, first - (id &+ 1))
        }
    }

    /// The number of the last event; 0 before the first.
    var last: UInt64 { state.withLock { $0.next - 1 } }

    /// The number of the last event that a reader has: `id`, or 0 if that is above the last event's, since it is of an
    /// earlier server then.
    func lastKnown(_ id: UInt64) -> UInt64 { id > last ? 0 : id }
}
