import CSeccomp
import EventLoop
import Glibc
import Journal
import OperatingSystem
import ProxyEngine
import Synchronization

/// Why a program's connections can't be redirected.
package enum SupervisionProblem: Error, Hashable, Sendable {
    /// The system doesn't let this process supervise others.
    case unsupported(SystemError)
    /// The sockets of other processes can't be had.
    case forbidden(SystemError)
    /// There is a supervisor already.
    case alreadySupervised
    /// The program can't be started.
    case notStarted(SystemError)
}

/// Which connections of a program are redirected.
package struct SupervisionRules: Sendable {
    /// Whether a connection that can't be redirected is made past the proxy.
    let allowsUnproxied: Bool
    /// Whether connections to an address are redirected; called on the proxy's loop, and must not block.
    let isWanted: @Sendable (SocketAddress) -> Bool
    /// Called for each connection that is redirected, on the proxy's loop; it must not block.
    let chosen: @Sendable () -> Void
    /// Called for each connect that has ended, on the proxy's loop; it must not block.
    let record: (@Sendable (ConnectRecord) -> Void)?
    /// Called for each thing that isn't redirected, once; on the proxy's loop.
    let note: @Sendable (SupervisorNotice) -> Void

    package init(
        allowsUnproxied: Bool,
        isWanted: @escaping @Sendable (SocketAddress) -> Bool,
        chosen: @escaping @Sendable () -> Void = {},
        record: (@Sendable (ConnectRecord) -> Void)?,
        note: @escaping @Sendable (SupervisorNotice) -> Void
    ) {
        (self.allowsUnproxied, self.isWanted, self.chosen) = (allowsUnproxied, isWanted, chosen)
        (self.record, self.note) = (record, note)
    }
}

/// Has the connections of programs go through a proxy of this process, without privileges and unknown to them: their
/// connect(2) waits for this process (seccomp_unotify(2)).
///
/// The order is `start`, `serve`, `end`. See docs/decisions/0048-supervised-commands.md.
package final class Supervision: Sendable {
    /// The most connects of the programs that are kept track of at a time; one more fails with EAGAIN.
    package static var connectLimit: Int { ConnectSupervisor.limit }

    private struct State {
        /// What the kernel asks by; −1 before `start`, and once the supervisor has it.
        var descriptor: Int32 = -1
        /// Whether this process makes the programs' sockets.
        var suppliesSockets = false
        /// Whether signals wait for the answer of a call.
        var holdsSignals = false
        var supervisor: LoopBound<LinuxSupervisor>?
    }

    private let rendezvous: Rendezvous
    private let state = Mutex(State())

    /// Opens the sockets at which the proxy and the programs' sockets meet.
    ///
    /// - Throws: `SystemError` of socket(2), bind(2), listen(2) or connect(2).
    package init() throws(SystemError) { rendezvous = try Rendezvous() }

    deinit {
        let descriptor = state.withLock { $0.descriptor }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Calls `body`, once, on a thread whose children are supervised, with all that they start. The thread ends: its filter is
    /// for ever.
    ///
    /// - Throws: `SupervisionProblem` if the kernel refuses; `body` isn't called then.
    package func start<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async throws(SupervisionProblem)
        -> Value
    {
        let result: Result<Value, SupervisionProblem>
        do throws(SystemError) {
            result = try await DetachedThread.run { [self] in
                Result { () throws(SupervisionProblem) in
                    let suppliesSockets = squall_may_duplicate() != 0
                    var holdsSignals: Int32 = 0
                    let descriptor = squall_supervise_connects(suppliesSockets ? 1 : 0, &holdsSignals)
                    if descriptor == -EBUSY { throw .alreadySupervised }
                    guard descriptor >= 0 else { throw .unsupported(SystemError(call: "seccomp", code: -descriptor)) }
                    state.withLock {
                        ($0.descriptor, $0.suppliesSockets) = (descriptor, suppliesSockets)
                        $0.holdsSignals = holdsSignals != 0
                    }
                    return body()
                }
            }
        } catch {
            throw .unsupported(error)
        }
        return try result.get()
    }

    /// Redirects connections to `proxy` from now on; until then those that are made wait.
    package func serve(by proxy: Proxy, _ rules: SupervisionRules) {
        let (rendezvous, loop) = (rendezvous, proxy.admissionLoop)
        let supervisor = state.withLock { state in
            let (descriptor, suppliesSockets, holdsSignals) = (
                state.descriptor, state.suppliesSockets, state.holdsSignals
            )
            let supervisor = LoopBound(on: loop) {
                LinuxSupervisor(
                    descriptor,
                    suppliesSockets: suppliesSockets,
                    holdsSignals: holdsSignals,
                    rendezvous,
                    of: proxy,
                    rules
                )
            }
            (state.descriptor, state.supervisor) = (-1, supervisor)
            return supervisor
        }
        loop.postBeyondLimit { _ = supervisor.value }
    }

    /// Redirects new connections to another proxy, from any thread; those that there are stay.
    func redirect(to proxy: Proxy) {
        guard let supervisor = state.withLock({ $0.supervisor }) else { return }
        supervisor.loop.postBeyondLimit { supervisor.value.proxy = proxy }
    }

    /// Redirects no more; connects that are made later fail with ENOSYS.
    package func end() async {
        guard let supervisor = state.withLock({ $0.supervisor.take() }) else { return }
        _ = try? await supervisor.loop.run(beyondLimit: true) { supervisor.value.close() }
    }
}
