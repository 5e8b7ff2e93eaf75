import CSeccomp
import EventLoop
import Glibc
import OperatingSystem
import Synchronization

/// A command whose connections, and those of everything it starts, go through a proxy of this process, without privileges and
/// unknown to it: its connect(2) waits for this process (seccomp_unotify(2)).
///
/// See docs/decisions/0048-supervised-commands.md.
public final class SupervisedCommand: Sendable {
    /// Why a command can't be run.
    public enum Problem: Error, Hashable, Sendable {
        /// The system doesn't let this process supervise others.
        case unsupported(SystemError)
        /// The sockets of other processes can't be had.
        case forbidden(SystemError)
        /// There is a supervisor already.
        case alreadySupervised
        /// The command can't be started.
        case notStarted(SystemError)
    }

    /// The most connects of the command that are kept track of at a time; one more fails with EAGAIN.
    public static var connectLimit: Int { ConnectSupervisor.limit }

    private let rendezvous: Rendezvous
    private let command = Mutex<ForegroundCommand?>(nil)

    /// Opens the sockets at which the proxy and the command's sockets meet.
    ///
    /// - Throws: `SystemError` of socket(2), bind(2), listen(2) or connect(2).
    public init() throws(SystemError) { rendezvous = try Rendezvous() }

    /// For the proxy's configuration: the socket in whose place `client` has named a target.
    package func handOver(to client: SocketAddress) -> DetachedSocket? { rendezvous.handOver(to: client) }

    /// Runs a command to its end and that of every process below it.
    ///
    /// - Parameters:
    ///   - words: the arguments of this program that run `ForegroundCommand.runGuard` with the command.
    ///   - proxy: the address of a forward proxy of this process whose configuration has `handOver`.
    ///   - allowsUnproxied: whether a connection that can't be redirected is made past the proxy.
    ///   - isWanted: whether connections to an address are redirected; called on another thread.
    ///   - note: called for each thing that isn't redirected, once; on another thread.
    /// - Returns: how the command has ended; `nil` if its guard was killed.
    /// - Throws: `Problem` if it can't be run; nothing is left then.
    public func run(
        guardedBy words: [String],
        through proxy: SocketAddress,
        allowsUnproxied: Bool,
        isWanted: @escaping @Sendable (SocketAddress) -> Bool,
        note: @escaping @Sendable (SupervisorNotice) -> Void
    ) async throws(Problem) -> ChildProcess.End? {
        let result: Result<ChildProcess.End?, Problem> = await withCheckedContinuation { continuation in
            Threads.run { [self] in
                continuation.resume(
                    returning: Result { () throws(Problem) in
                        try runWaiting(words, proxy, allowsUnproxied, isWanted, note)
                    }
                )
            }
        }
        return try result.get()
    }

    /// Sends a signal to the command; returns whether it runs.
    public func send(_ signal: Int32) -> Bool {
        command.withLock { command in
            command?.send(signal)
            return command != nil
        }
    }

    private func runWaiting(
        _ words: [String],
        _ proxy: SocketAddress,
        _ allowsUnproxied: Bool,
        _ isWanted: @escaping @Sendable (SocketAddress) -> Bool,
        _ note: @escaping @Sendable (SupervisorNotice) -> Void
    ) throws(Problem) -> ChildProcess.End? {
        let (command, supervisor) = try start(words, proxy, note)
        let rendezvous = rendezvous
        let finished = Gate()
        Threads.run {
            supervisor.run(
                ConnectSupervisor(supervisor, allowsUnproxied: allowsUnproxied) { address in
                    let target = address.canonical
                    return target != proxy && !rendezvous.isOwn(target) && isWanted(target)
                }
            )
            finished.open()
        }
        defer {
            self.command.withLock { $0 = nil }
            supervisor.stop()
            finished.wait()
        }
        return try follow(command)
    }

    /// Follows the guard's reports to its end.
    private func follow(_ command: ForegroundCommand) throws(Problem) -> ChildProcess.End? {
        guard case .tested(let code)? = command.next() else { return nil }
        guard code == LinuxSupervisor.works else {
            throw .forbidden(SystemError(call: "pidfd_getfd", code: code))
        }
        // The guard starts the command.
        command.send(0)
        // Not before: the guard would take a signal for its start.
        self.command.withLock { $0 = command }
        var end: ChildProcess.End?
        while let report = command.next() {
            switch report {
            case .tested: break
            case .startFailed(let code): throw .notStarted(SystemError(call: "posix_spawn", code: code))
            case .ended(let found):
                end = found
                self.command.withLock { $0 = nil }
            }
        }
        return end
    }

    /// Starts the guard on a thread whose calls are filtered, and which ends at once: a filter is for ever.
    private func start(
        _ words: [String],
        _ proxy: SocketAddress,
        _ note: @escaping @Sendable (SupervisorNotice) -> Void
    ) throws(Problem) -> (ForegroundCommand, LinuxSupervisor) {
        let rendezvous = rendezvous
        let result = Mutex<Result<(ForegroundCommand, LinuxSupervisor), Problem>?>(nil)
        let done = Gate()
        Threads.run {
            let started = Result { () throws(Problem) in
                let descriptor = squall_supervise_connects()
                if descriptor == -EBUSY { throw .alreadySupervised }
                guard descriptor >= 0 else { throw .unsupported(SystemError(call: "seccomp", code: -descriptor)) }
                do throws(SystemError) {
                    let supervisor = try LinuxSupervisor(descriptor, rendezvous, proxy: proxy, tell: note)
                    return (try ForegroundCommand.start(guardedBy: words), supervisor)
                } catch {
                    throw .notStarted(error)
                }
            }
            result.withLock { $0 = started }
            done.open()
        }
        done.wait()
        guard let result = result.withLock({ $0 }) else { preconditionFailure("a start has a result") }
        return try result.get()
    }
}

/// Opened once, by one thread, for another one.
private final class Gate: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() { sem_post(semaphore) }
    func wait() { while sem_wait(semaphore) != 0, errno == EINTR {} }
}

/// Threads that end when their work is done: one of a pool would keep a filter of system calls, or wait for another one.
private enum Threads {
    private final class Work {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    static func run(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(body))
        let code = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            },
            work.toOpaque()
        )
        precondition(code == 0, "a thread can be started: errno \(code)")
        pthread_detach(thread)
    }
}
