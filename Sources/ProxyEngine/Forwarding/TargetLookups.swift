import EventLoop
import OperatingSystem
import StreamReading
import Synchronization

/// The reason why a target isn't dialed.
enum TargetProblem: Error, Hashable, Sendable {
    /// Its name has no address.
    case unresolved(SystemError)
    /// The policy forbids all its addresses.
    case forbidden
    /// `TargetLookups.limit` others are being looked up.
    case overloaded
}

/// Looks up the targets of clients, off every loop, and leaves out addresses that the policy forbids.
final class TargetLookups: Sendable {
    /// The most lookups at a time: 256.
    static let limit = 256

    private let running = Atomic<Int>(0)

    /// Looks up `target` and calls `done` with at least one address on `loop`, unless the loop has stopped. An address is known
    /// at once. In a simulation the lookup takes no time.
    func find(
        _ target: ProxyTarget,
        _ policy: ForwardPolicy,
        for context: ProxyContext,
        on loop: EventLoop,
        done: @escaping @Sendable (Result<[SocketAddress], TargetProblem>) -> Void
    ) {
        guard running.add(1, ordering: .relaxed).newValue <= TargetLookups.limit else {
            running.subtract(1, ordering: .relaxed)
            return done(.failure(.overloaded))
        }
        let endpoint = Endpoint(host: target.host, port: target.port)
        let listen = context.route.listen
        let finish = { @Sendable (found: Result<[SocketAddress], SystemError>) in
            self.running.subtract(1, ordering: .relaxed)
            let result = TargetLookups.allowed(found, policy, listen)
            loop.postBeyondLimit { done(result) }
        }
        if let lookUp = context.configuration.simulatedNames { return finish(lookUp(endpoint)) }
        if let address = SocketAddress(numericHost: target.host, port: target.port) {
            running.subtract(1, ordering: .relaxed)
            return done(TargetLookups.allowed(.success([address]), policy, listen))
        }
        Task {
            do throws(SystemError) {
                finish(.success(try await context.configuration.resolve(endpoint)))
            } catch {
                finish(.failure(error))
            }
        }
    }

    private static func allowed(
        _ found: Result<[SocketAddress], SystemError>,
        _ policy: ForwardPolicy,
        _ listen: [SocketAddress]
    ) -> Result<[SocketAddress], TargetProblem> {
        switch found {
        case .failure(let error):
            return .failure(.unresolved(error))
        case .success(let addresses):
            let allowed = policy.allowed(addresses, listen: listen, ownHosts: SocketAddress.ownHosts())
            return allowed.isEmpty ? .failure(.forbidden) : .success(allowed)
        }
    }
}
