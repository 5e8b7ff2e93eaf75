import CLibevent
import Glibc
import OperatingSystem
import Synchronization
import Units

/// A thread that waits for sockets and timers, by libevent, and calls handlers back.
///
/// Everything except `post`, `isCurrent` and `stop` traps off the loop's thread.
public final class EventLoop: @unchecked Sendable {
    /// The most bytes of a read, in the loop's scratch buffer: 1 MiB. Large reads make forwarding cheap, see
    /// docs/decisions/0015-splice-in-bulk.md.
    public static let scratchCapacity = 1 << 20
    /// The most bytes inserted into a read: 1 MiB.
    public static let insertionCapacity = 1 << 20
    /// The bytes of the scratch buffer.
    static let scratchSize = scratchCapacity + insertionCapacity

    /// The loop's number in its group, from 0.
    public let index: Int

    /// The base of libevent; `nil` in a simulation.
    let base: OpaquePointer?
    let system: SystemCalls
    private let simulation: SimulatedSystem?
    let scratch: UnsafeMutableRawPointer
    let slabs = SlabPool()
    /// Used without reference counting.
    let pipes: Unmanaged<PipePool>
    let timers: TimerQueue
    let readProbe = DeferredReadProbe()
    /// An object of a library that belongs to the loop's thread, and is released on it.
    public var attachment: AnyObject? {
        get {
            preconditionOnLoop()
            return attached
        }
        set {
            preconditionOnLoop()
            attached = newValue
        }
    }
    private var attached: AnyObject?
    private let mailbox: Mailbox
    private let threadIdentity = Atomic<UInt>(0)
    private var wakeEvent: UnsafeMutablePointer<event>
    private var timerEvent: UnsafeMutablePointer<event>
    // Strong references, because entries added during a turn outlive its deferred releases.
    private var ready: [(handler: LoopHandler, tag: Int)] = []
    // In order, so that simulations are deterministic.
    private var shutdownHandlers: [any LoopShutdownHandler] = []
    private var deferredReleases: [AnyObject] = []
    private var isStopping = false
    private var nextOffer = Moment.zero
    private let finished = FirstValue<Void>()

    /// The time between two offers of the processor, beside a slice of some 1.4 ms on two processors.
    private static let offerInterval = Duration.microseconds(500)

    /// The most deferred releases for which the list keeps its capacity: 256.
    private static let deferredReleaseLimit = 256

    /// Makes a loop and starts its thread.
    public convenience init(index: Int = 0) throws(SystemError) {
        try self.init(index: index, base: EventLoop.makeBase(), simulation: nil)
        watchWakeUps()
        try DetachedThread.start { self.live() }
    }

    /// Makes a loop of a simulation, whose turns run on the caller's thread.
    public convenience init(index: Int, on simulation: SimulatedSystem) throws(SystemError) {
        try self.init(index: index, base: nil, simulation: simulation)
        threadIdentity.store(UInt(pthread_self()), ordering: .relaxed)
    }

    private static func makeBase() throws(SystemError) -> OpaquePointer {
        guard let config = event_config_new() else { throw .last("event_config_new") }
        defer { event_config_free(config) }
        // No locks, because each base has one thread; no cached time, because libevent's timers aren't used.
        let flags = EVENT_BASE_FLAG_NOLOCK.rawValue | EVENT_BASE_FLAG_NO_CACHE_TIME.rawValue
        event_config_set_flag(config, Int32(flags))
        guard let base = event_base_new_with_config(config) else { throw .last("event_base_new_with_config") }
        return base
    }

    private init(index: Int, base: OpaquePointer?, simulation: SimulatedSystem?) throws(SystemError) {
        self.index = index
        self.base = base
        self.simulation = simulation
        system = SystemCalls(simulation)
        mailbox = try Mailbox()
        timers = try TimerQueue(isSimulated: simulation != nil)
        pipes = .passRetained(PipePool(system))
        scratch = .allocate(byteCount: EventLoop.scratchSize, alignment: 4_096)
        wakeEvent = .allocate(capacity: 1)
        wakeEvent.initialize(to: event())
        timerEvent = .allocate(capacity: 1)
        timerEvent.initialize(to: event())
        readProbe.serve(self)
    }

    private func watchWakeUps() {
        event_assign(
            wakeEvent,
            base,
            mailbox.wakeDescriptor,
            Int16(EV_READ | EV_PERSIST),
            { _, _, context in
                guard let context else { return }
                Unmanaged<EventLoop>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.runJobs() }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        event_add(wakeEvent, nil)
        event_assign(
            timerEvent,
            base,
            timers.wakeDescriptor,
            Int16(EV_READ | EV_ET | EV_PERSIST),
            { _, _, context in
                guard let context else { return }
                Unmanaged<EventLoop>.fromOpaque(context)._withUnsafeGuaranteedRef { loop in
                    loop.timers.fire(by: loop)
                }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        event_add(timerEvent, nil)
    }

    deinit {
        // Freed last: the base visits its remaining events.
        if let base {
            event_del(wakeEvent)
            event_del(timerEvent)
            event_base_free(base)
        }
        wakeEvent.deallocate()
        timerEvent.deallocate()
        scratch.deallocate()
        pipes.release()
    }

    /// The time now on the clock of every loop.
    public var now: Moment { system.now }

    /// Whether the caller is on this loop's thread.
    public var isCurrent: Bool { UInt(pthread_self()) == threadIdentity.load(ordering: .relaxed) }

    /// Traps unless the caller is on this loop's thread.
    @inline(__always)
    public func preconditionOnLoop() {
        precondition(isCurrent, "this belongs to one event loop and was used on another thread")
    }

    /// Posts a job, from any thread. Returns `false`, and never runs the job, if the loop is stopping or 65,536 jobs wait.
    @discardableResult
    public func post(_ job: @escaping @Sendable () -> Void) -> Bool { mailbox.post(job) }

    /// Posts a job even if the mailbox is full, from any thread; for rare jobs that a caller waits for.
    /// Returns `false`, and never runs the job, if the loop is stopping.
    @discardableResult
    public func postBeyondLimit(_ job: @escaping @Sendable () -> Void) -> Bool { mailbox.postBeyondLimit(job) }

    /// Runs `body` on the loop and waits for its result, from any task.
    ///
    /// - Parameter beyondLimit: whether to post even if the mailbox is full.
    /// - Throws: `SystemError` (ECANCELED) if the loop is stopping or its mailbox is full.
    public func run<Result: Sendable>(
        beyondLimit: Bool = false,
        _ body: @escaping @Sendable () -> Result
    ) async throws(SystemError) -> Result {
        let result: Result? = await withCheckedContinuation { continuation in
            let job = { @Sendable in continuation.resume(returning: body()) }
            if !(beyondLimit ? postBeyondLimit(job) : post(job)) { continuation.resume(returning: nil) }
        }
        guard let result else { throw SystemError(call: "event loop", code: ECANCELED) }
        return result
    }

    /// Calls `handler` in the next turn, after the sockets that became ready meanwhile.
    public func callSoon(_ handler: LoopHandler, tag: Int) {
        preconditionOnLoop()
        ready.append((handler, tag))
    }

    /// Keeps a handler, and calls it when the loop ends, until `remove`.
    public func add(_ tenant: any LoopShutdownHandler) {
        preconditionOnLoop()
        if !shutdownHandlers.contains(where: { $0 === tenant }) { shutdownHandlers.append(tenant) }
    }

    /// Removes a handler whose sockets and timers are closed. Calling it twice is fine.
    public func remove(_ tenant: any LoopShutdownHandler) {
        preconditionOnLoop()
        shutdownHandlers.removeAll { $0 === tenant }
    }

    /// Keeps `object` until the callbacks of this turn are over.
    public func deferRelease(_ object: AnyObject) {
        preconditionOnLoop()
        deferredReleases.append(object)
    }

    /// Closes unused pipes; for when no connection is left, or descriptors run out.
    public func giveBackPipes() {
        preconditionOnLoop()
        pipes._withUnsafeGuaranteedRef { $0.drain() }
    }

    /// Whether `giveBackPipes` would close some.
    var hasUnusedPipes: Bool { pipes._withUnsafeGuaranteedRef { $0.hasUnused } }

    /// Closes unused descriptors, and lets every handler close expendable ones. Returns the number of ended connections.
    /// Must not be called from a callback of a handler's sockets.
    public func relieveShortage() -> Int {
        giveBackPipes()
        // Handlers may be removed meanwhile.
        return shutdownHandlers.reduce(0) { $0 + $1.releaseDescriptors() }
    }

    /// Stops the loop after the queued jobs, and waits until its thread has ended. Calling it twice is fine.
    public func stop() async {
        mailbox.postBeyondLimit { self.isStopping = true }
        await finished.value
    }

    private func live() {
        threadIdentity.store(UInt(pthread_self()), ordering: .relaxed)
        squall_prepare_thread("squall-loop-\(index)")
        squall_start_on_processor(Int32(index))
        while !isStopping {
            let sleeps = ready.isEmpty && !timers.isNear
            event_base_loop(base, sleeps ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK)
            finishTurn()
            offerProcessor()
        }
        event_del(wakeEvent)
        event_del(timerEvent)
        end()
    }

    /// Has the kernel's scheduler compare the thread's run with its slice, which it otherwise does at ticks: 4 ms at 250 Hz,
    /// which a ready loop on the same processor waits. Reading the thread's clock updates its account, see
    /// docs/decisions/0020-arrivals-and-wakes.md.
    private func offerProcessor() {
        let now = now
        guard now >= nextOffer else { return }
        nextOffer = now + EventLoop.offerInterval
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    }

    /// The rest of a turn after the callbacks of ready sockets.
    private func finishTurn() {
        if timers.isNear { timers.fire(by: self) }
        // One handler in each turn, so that sockets that become ready run first.
        if !ready.isEmpty {
            let entry = ready.removeFirst()
            entry.handler.socketIsReady(entry.tag)
        }
        readProbe.endTurn()
        if !deferredReleases.isEmpty {
            deferredReleases.removeAll(keepingCapacity: deferredReleases.count < EventLoop.deferredReleaseLimit)
        }
    }

    /// The end of the loop's thread.
    private func end() {
        for job in mailbox.close() { job() }
        // Handlers remove themselves during the call; the iteration is over a copy.
        for tenant in shutdownHandlers { tenant.loopWillEnd() }
        shutdownHandlers.removeAll()
        ready.removeAll()
        deferredReleases.removeAll()
        attached = nil
        readProbe.close()
        slabs.drain()
        pipes._withUnsafeGuaranteedRef { pool in
            pool.drain()
            assert(pool.count == 0, "who ends gives its pipes back")
        }
        // Thread identities are reused.
        threadIdentity.store(0, ordering: .relaxed)
        finished.resolve(())
    }

    private func runJobs() {
        for job in mailbox.takeJobs() { job() }
    }

    // MARK: Simulations

    /// Whether a simulated loop has work for its next turn: jobs, waiting handlers, or a timer too near to sleep.
    public var hasWork: Bool { !ready.isEmpty || timers.isNear || mailbox.hasJobs }

    /// When the system's timer would wake a simulated loop; `distantFuture` is never.
    public var ring: Moment { timers.ring }

    /// Runs one turn of a simulated loop: `callbacks` calls the ready sockets; `rings` says that the system's timer fired.
    public func turn(rings: Bool, _ callbacks: () -> Void) {
        preconditionOnLoop()
        callbacks()
        runJobs()
        if rings { timers.fire(by: self) }
        finishTurn()
    }

    /// Ends a simulated loop.
    ///
    /// - Returns: the timers still set, and the slabs and pipes still in use.
    public func endSimulation() -> (timers: Int, slabs: Int, pipes: Int) {
        preconditionOnLoop()
        let left = (timers.count, slabs.taken, pipes._withUnsafeGuaranteedRef { $0.used })
        end()
        return left
    }
}
