import CLibevent
import Glibc
import OperatingSystem
import Units

/// The clock of timers. A closure in its place would count a reference each time.
protocol MomentSource {
    var now: Moment { get }
}

extension EventLoop: MomentSource {}

/// The set timers of a loop, ordered by moment, and the system's timer that wakes the loop for them.
///
/// libevent's timers set the system's timer before each wait. This queue only sets it when it must ring earlier, so a loop
/// whose timers don't change makes no calls for them.
final class TimerQueue {
    /// The shortest sleep that lets the processor sleep deeply, so that waking takes longer: 2 ms.
    private static let deepSleep: Int64 = 2_000_000
    /// How long before the lead a deep sleep is interrupted, so that the rest is slept lightly: 200 µs.
    private static let lightSleep: Int64 = 200_000
    /// The longest busy wait: 2 µs, about a turn of the loop.
    private static let shortWait: Int64 = 2_000

    // Read and set in single steps, or changed by values of their own: no access to them can overlap another one.

    /// How long before its moment a timer wakes the loop.
    @exclusivity(unchecked) private var lead = WakeLead()
    /// How late timers fired.
    @exclusivity(unchecked) private(set) var lateness = TimerLateness()
    /// Whether the first timer is so near that the loop doesn't sleep and calls `fire` in each turn.
    @exclusivity(unchecked) private(set) var isNear = false
    /// A binary heap by moment; each timer knows its index. Timers remove themselves before they are released.
    @exclusivity(unchecked) private var heap: [Entry] = []
    /// When the system's timer fires; `distantFuture` is never.
    @exclusivity(unchecked) private(set) var ring = Moment.distantFuture
    /// Whether it fires for a precise timer, and not to interrupt a deep sleep.
    @exclusivity(unchecked) private var ringsAhead = false
    /// Whether handlers are being called; timers that they set are handled afterwards.
    @exclusivity(unchecked) private var isFiring = false
    private let descriptor: Int32

    private struct Entry {
        var moment: Moment
        let isCoarse: Bool
        /// Whether the moment had passed when the timer was set, so that its lateness isn't the loop's.
        var isPast: Bool
        /// Unowned: a timer removes itself before it is released.
        let timer: Unmanaged<LoopTimer>
    }

    /// Makes a queue with a system timer, or for a simulation, which reads `ring`.
    init(isSimulated: Bool) throws(SystemError) {
        descriptor = isSimulated ? -1 : squall_timerfd()
        if descriptor < 0, !isSimulated { throw .last("timerfd_create") }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The number of set timers.
    var count: Int { heap.count }

    /// Becomes readable when the loop must call `fire`; watched edge-triggered, so it needn't be read.
    var wakeDescriptor: Int32 { descriptor }

    func set(_ timer: LoopTimer, to moment: Moment, now: Moment) {
        if timer.place < 0 {
            timer.place = heap.count
            let isCoarse = timer.isCoarse
            heap.append(
                Entry(moment: moment, isCoarse: isCoarse, isPast: moment < now, timer: .passUnretained(timer))
            )
            rise(from: timer.place)
        } else {
            let place = timer.place
            heap[place].moment = moment
            heap[place].isPast = moment < now
            rise(from: place)
            sink(from: timer.place)
        }
        arm(now)
    }

    /// Removes a timer, if present.
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

    /// Calls the handlers of due timers. To be called when the system's timer fires, and in each turn while `isNear`.
    func fire(by clock: some MomentSource) {
        var now = clock.now
        if ringsAhead, ring <= now { lead.note(lateness: (now - ring).nanoseconds) }
        (ring, ringsAhead, isNear) = (.distantFuture, false, false)
        // A timer set again by its handler fires after the others.
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
            while now < moment { now = clock.now }
            if !heap[0].isPast { lateness.note((now - moment).nanoseconds) }
            let first = heap[0].timer
            first._withUnsafeGuaranteedRef { timer in
                remove(timer)
                timer.fire()
            }
            turns -= 1
            now = clock.now
        }
        isFiring = false
        arm(now)
    }

    /// Sets the system's timer for the first timer, unless it fires early enough.
    private func arm(_ now: Moment) {
        guard !isNear, !isFiring, !heap.isEmpty, heap[0].moment < .distantFuture else { return }
        var isAhead = !heap[0].isCoarse
        var early = heap[0].moment.nanoseconds.subtractingSaturated(isAhead ? lead.nanoseconds : 0)
        if isAhead, early.subtractingSaturated(now.nanoseconds) > TimerQueue.deepSleep {
            early -= TimerQueue.lightSleep
            isAhead = false
        }
        // Zero would disable the system's timer; a past moment fires at once.
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
