import CLibevent
import Glibc
import Units

/// The timers of a loop that are set, the earliest first, and the one timer of the system that wakes the loop for them.
///
/// libevent's own timers set that of the system before each wait, whether or not anything has changed. This one is set
/// when something has to happen earlier than it would ring, so a loop whose timers don't move makes no call for them.
final class TimerQueue {
    /// A sleep of this and more lets the processor go so deep that waking takes longer than usual: 2 ms.
    private static let deepSleep: Int64 = 2_000_000
    /// How long before the lead such a sleep is broken off; what is left is slept lightly: 200 µs.
    private static let lightSleep: Int64 = 200_000
    /// A moment so near is waited for on the processor, since a turn of the loop takes as long: 2 µs.
    private static let shortWait: Int64 = 2_000

    /// How long before its moment a timer has the loop woken.
    private var lead = WakeLead()
    /// Whether the first timer is so near that the loop doesn't sleep any more: it looks after its sockets and calls
    /// `fire` in each turn.
    private(set) var isNear = false
    /// A binary heap by moment; each timer knows its place. Timers take themselves out before they go.
    private var heap: [Entry] = []
    private let descriptor: Int32
    /// When the system's timer rings; `distantFuture` is never.
    private(set) var ring = Moment.distantFuture
    /// Whether it rings for a timer that is to be on time, and not to break off a sleep.
    private var ringsAhead = false
    /// Whether handlers are being called; what they set is looked at when all have been.
    private var isFiring = false

    private struct Entry {
        var moment: Moment
        let isCoarse: Bool
        /// Not counted: a timer takes itself out before it goes.
        let timer: Unmanaged<LoopTimer>
    }

    /// Makes a queue with a timer of the system, or for a simulation, which asks for `ring`.
    init(isSimulated: Bool) throws(SystemError) {
        descriptor = isSimulated ? -1 : squall_timerfd()
        if descriptor < 0, !isSimulated { throw .last("timerfd_create") }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The timers that are set.
    var count: Int { heap.count }

    /// What becomes readable when the loop has to call `fire`; it needs no reading, if it is watched edge-triggered.
    var wakeDescriptor: Int32 { descriptor }

    /// Puts a timer in, or moves it.
    func set(_ timer: LoopTimer, to moment: Moment, now: Moment) {
        if timer.place < 0 {
            timer.place = heap.count
            heap.append(Entry(moment: moment, isCoarse: timer.isCoarse, timer: .passUnretained(timer)))
            rise(from: timer.place)
        } else {
            let place = timer.place
            heap[place].moment = moment
            rise(from: place)
            sink(from: timer.place)
        }
        arm(now)
    }

    /// Takes a timer out, if it is in.
    func remove(_ timer: LoopTimer) {
        let place = timer.place
        guard place >= 0 else { return }
        timer.place = -1
        let last = heap.removeLast()
        guard place < heap.count else { return }
        put(last, at: place)
        rise(from: place)
        sink(from: last.timer._withUnsafeGuaranteedRef { $0.place })
    }

    /// Calls the handlers of the timers whose moment has come. To be called when the system's timer has rung, and in each
    /// turn while one `isNear`.
    func fire(_ clock: () -> Moment) {
        var now = clock()
        if ringsAhead, ring <= now { lead.note(lateness: (now - ring).nanoseconds) }
        (ring, ringsAhead, isNear) = (.distantFuture, false, false)
        // A handler may set its timer again at once; others of the loop have their turn first.
        var turns = heap.count
        isFiring = true
        while turns > 0, !heap.isEmpty {
            let moment = heap[0].moment
            let wait = moment.nanoseconds.subtractingSaturated(now.nanoseconds)
            guard wait <= (heap[0].isCoarse ? 0 : lead.nanoseconds) else { break }
            if wait > TimerQueue.shortWait {
                isNear = true
                isFiring = false
                return
            }
            while now < moment { now = clock() }
            let first = heap[0].timer
            first._withUnsafeGuaranteedRef { timer in
                remove(timer)
                timer.fire()
            }
            turns -= 1
            now = clock()
        }
        isFiring = false
        arm(now)
    }

    /// Has the system ring for the first timer, unless it rings in time anyway.
    private func arm(_ now: Moment) {
        guard !isNear, !isFiring, !heap.isEmpty, heap[0].moment < .distantFuture else { return }
        var isAhead = !heap[0].isCoarse
        var early = heap[0].moment.nanoseconds.subtractingSaturated(isAhead ? lead.nanoseconds : 0)
        if isAhead, early.subtractingSaturated(now.nanoseconds) > TimerQueue.deepSleep {
            early -= TimerQueue.lightSleep
            isAhead = false
        }
        // A moment of zero would turn the system's timer off; one that has passed rings at once.
        let wanted = Moment(nanoseconds: max(1, early))
        guard wanted < ring else { return }
        (ring, ringsAhead) = (wanted, isAhead)
        if descriptor >= 0 { squall_timerfd_set(descriptor, wanted.nanoseconds) }
    }

    private func rise(from start: Int) {
        var place = start
        let entry = heap[place]
        while place > 0 {
            let parent = (place - 1) / 2
            guard entry.moment < heap[parent].moment else { break }
            put(heap[parent], at: place)
            place = parent
        }
        put(entry, at: place)
    }

    private func sink(from start: Int) {
        var place = start
        let entry = heap[place]
        while true {
            var child = 2 * place + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].moment < heap[child].moment { child += 1 }
            guard heap[child].moment < entry.moment else { break }
            put(heap[child], at: place)
            place = child
        }
        put(entry, at: place)
    }

    private func put(_ entry: Entry, at place: Int) {
        heap[place] = entry
        entry.timer._withUnsafeGuaranteedRef { $0.place = place }
    }
}
