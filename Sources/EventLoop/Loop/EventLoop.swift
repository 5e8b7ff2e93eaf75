import CLibevent
import Glibc
import Synchronization
import Units

/// A thread that waits for sockets and timers, by libevent, and calls handlers back.
///
/// Everything but `post`, `isCurrent` and `stop` is for the loop's own thread and traps elsewhere.
public final class EventLoop: @unchecked Sendable {
    /// The bytes that one read takes at most: the loop's scratch buffer, 1 MiB. Large reads are what
    /// makes forwarding cheap, see docs/decisions/0003-copy-not-splice.md and 0015.
    public static let scratchCapacity = 1 << 20
    /// The bytes beyond those of a read that may be put between them: 1 MiB.
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
    /// Not counted where it is used.
    let pipes: Unmanaged<PipePool>
    let timers: TimerQueue
    let doubts = DeferredReadProbe()
    private let mailbox: Mailbox
    private let threadIdentity = Atomic<UInt>(0)
    private var wakeEvent: UnsafeMutablePointer<event>
    private var timerEvent: UnsafeMutablePointer<event>
    // Strong: what a turn adds while it works this list off outlives the turn's graveyard.
    private var ready: [(handler: LoopHandler, tag: Int)] = []
    // In their order, so that a simulation repeats itself.
    private var tenants: [any LoopShutdownHandler] = []
    private var graveyard: [AnyObject] = []
    private var isStopping = false
    private let finished = Mutex<(isFinished: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    /// With so many objects deferredReleases in a turn, the list of them is made anew: 256.
    private static let fullGraveyard = 256

    /// Makes a loop and starts its thread.
    public convenience init(index: Int = 0) throws(SystemError) {
        try self.init(index: index, base: EventLoop.makeBase(), simulation: nil)
        watchWakeUps()
        try startThread()
    }

    /// Makes a loop of a simulation, which has it take its turns on the thread of the caller.
    public convenience init(index: Int, on simulation: SimulatedSystem) throws(SystemError) {
        try self.init(index: index, base: nil, simulation: simulation)
        threadIdentity.store(UInt(pthread_self()), ordering: .relaxed)
    }

    private static func makeBase() throws(SystemError) -> OpaquePointer {
        guard let config = event_config_new() else { throw .last("event_config_new") }
        defer { event_config_free(config) }
        // One thread per base, so no locks; and no time is asked for, because libevent has no timer here.
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
        doubts.serve(self)
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
                    loop.timers.fire { loop.now }
                }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        event_add(timerEvent, nil)
    }

    deinit {
        // The base goes through the events that are still with it, so their memory goes last.
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

    /// When the bytes came that a socket has received last which stamps arrivals; see `StreamSocket.stampArrivals`.
    public internal(set) var arrival = Moment.zero

    /// The time now on the clock of every loop.
    public var now: Moment { system.now }

    /// Whether the caller is on this loop's thread.
    public var isCurrent: Bool { UInt(pthread_self()) == threadIdentity.load(ordering: .relaxed) }

    /// Traps unless the caller is on this loop's thread.
    @inline(__always)
    public func preconditionOnLoop() {
        precondition(isCurrent, "this belongs to one event loop and was used on another thread")
    }

    /// Leaves a job for the loop, from any thread. Returns `false`, and never runs the job, when the
    /// loop is stopping or 65,536 jobs wait already.
    @discardableResult
    public func post(_ job: @escaping @Sendable () -> Void) -> Bool { mailbox.post(job) }

    /// Posts a job that is accepted even when the mailbox is full, from any thread. For rare jobs that a caller waits for.
    /// Returns `false`, and never runs the job, when the loop is stopping.
    @discardableResult
    public func postBeyondLimit(_ job: @escaping @Sendable () -> Void) -> Bool { mailbox.postBeyondLimit(job) }

    /// Runs `body` on the loop and waits for its result, from any task.
    ///
    /// - Parameter beyondLimit: whether a full mailbox takes it all the same.
    /// - Throws: `SystemError` (ECANCELED) when the loop is stopping, or its mailbox is full.
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

    /// Calls `handler` once more in the loop's next turn, after the sockets that became ready meanwhile.
    public func callSoon(_ handler: LoopHandler, tag: Int) {
        preconditionOnLoop()
        ready.append((handler, tag))
    }

    /// Keeps `tenant`, and tells it when the loop ends, until `remove` takes it away.
    public func add(_ tenant: any LoopShutdownHandler) {
        preconditionOnLoop()
        if !tenants.contains(where: { $0 === tenant }) { tenants.append(tenant) }
    }

    /// Lets go of a tenant whose sockets and timers are closed. Calling it twice is fine.
    public func remove(_ tenant: any LoopShutdownHandler) {
        preconditionOnLoop()
        tenants.removeAll { $0 === tenant }
    }

    /// Keeps `object` until the callbacks of this turn are over.
    public func deferRelease(_ object: AnyObject) {
        preconditionOnLoop()
        graveyard.append(object)
    }

    /// Gives the pipes back to the system that no `PipeQueue` uses. For when no connection is left.
    public func giveBackPipes() {
        preconditionOnLoop()
        pipes._withUnsafeGuaranteedRef { $0.drain() }
    }

    /// Closes the descriptors that nobody uses: pipes. For when the system gives no more.
    public func giveBackDescriptors() {
        giveBackPipes()
    }

    /// Whether `giveBackDescriptors` closes some.
    var hasUnusedDescriptors: Bool { pipes._withUnsafeGuaranteedRef { $0.hasUnused } }

    /// Closes the descriptors that nobody uses, and has every tenant close those that nobody misses. Returns how many
    /// connections that ended. To be called outside the callbacks of a tenant's sockets.
    public func relieveShortage() -> Int {
        giveBackDescriptors()
        // Tenants may leave while they are asked.
        return tenants.reduce(0) { $0 + $1.releaseDescriptors() }
    }

    /// Stops the loop after the jobs that wait, and waits until its thread has ended. Calling it twice is fine.
    public func stop() async {
        mailbox.postBeyondLimit { self.isStopping = true }
        await withCheckedContinuation { continuation in
            let isFinished = finished.withLock { state in
                if !state.isFinished { state.waiters.append(continuation) }
                return state.isFinished
            }
            if isFinished { continuation.resume() }
        }
    }

    private func startThread() throws(SystemError) {
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread,
            &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().live()
                return nil
            },
            context.toOpaque()
        )
        pthread_attr_destroy(&attributes)
        if code != 0 {
            context.release()
            throw SystemError(call: "pthread_create", code: code)
        }
    }

    /// The life of the thread.
    private func live() {
        threadIdentity.store(UInt(pthread_self()), ordering: .relaxed)
        squall_prepare_thread("squall-loop-\(index)")
        while !isStopping {
            let sleeps = ready.isEmpty && !timers.isNear
            event_base_loop(base, sleeps ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK)
            finishTurn()
        }
        event_del(wakeEvent)
        event_del(timerEvent)
        end()
    }

    /// What comes in a turn after the calls for sockets that were ready.
    private func finishTurn() {
        if timers.isNear { timers.fire { now } }
        // One handler per turn, so that sockets that become ready meanwhile run before the next handler.
        if !ready.isEmpty {
            let entry = ready.removeFirst()
            entry.handler.socketIsReady(entry.tag)
        }
        doubts.endTurn()
        if !graveyard.isEmpty { graveyard.removeAll(keepingCapacity: graveyard.count < EventLoop.fullGraveyard) }
    }

    /// The last that happens on the thread of the loop.
    private func end() {
        for job in mailbox.close() { job() }
        // A tenant removes itself during this call; the loop goes over a copy.
        for tenant in tenants { tenant.loopWillEnd() }
        tenants.removeAll()
        ready.removeAll()
        graveyard.removeAll()
        doubts.close()
        slabs.drain()
        pipes._withUnsafeGuaranteedRef { pool in
            pool.drain()
            assert(pool.count == 0, "who ends gives its pipes back")
        }
        // The system gives the identity of a thread that has ended to another.
        threadIdentity.store(0, ordering: .relaxed)
        let waiters = finished.withLock { state in
            state.isFinished = true
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private func runJobs() {
        for job in mailbox.takeJobs() { job() }
    }

    // MARK: Simulations

    /// Whether the loop of a simulation has something to do in its next turn: jobs, handlers that wait for their turn, or a
    /// timer that is too near to sleep.
    public var hasWork: Bool { !ready.isEmpty || timers.isNear || mailbox.hasJobs }

    /// When the system's timer would wake the loop of a simulation; `distantFuture` is never.
    public var ring: Moment { timers.ring }

    /// Takes one turn of a loop of a simulation: `callbacks` calls for what is ready, and with `rings` the system's timer
    /// has rung.
    public func turn(rings: Bool, _ callbacks: () -> Void) {
        preconditionOnLoop()
        callbacks()
        runJobs()
        if rings { timers.fire { now } }
        finishTurn()
    }

    /// Ends a loop of a simulation.
    ///
    /// - Returns: the timers that are still set, the slabs and the pipes that nobody has given back.
    public func endSimulation() -> (timers: Int, slabs: Int, pipes: Int) {
        preconditionOnLoop()
        let left = (timers.count, slabs.taken, pipes._withUnsafeGuaranteedRef { $0.used })
        end()
        return left
    }
}
