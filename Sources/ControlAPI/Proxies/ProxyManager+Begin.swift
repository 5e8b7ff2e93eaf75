public import FaultProfile
import ProxyEngine

extension ProxyManager {
    /// Starts a proxy from the beginning of its profile: its clock shows zero, and its connections count from 1.
    ///
    /// One that exists keeps its address, its toxics and added faults, and the profile that it has by now; its connections
    /// are closed. Another one is made with `profile` on a free port of 127.0.0.1.
    ///
    /// - Returns: the address on which it listens, or what kept it from starting.
    public func begin(
        _ name: String,
        upstream: String,
        profile: Profile,
        seed: UInt64
    ) async -> Result<String, BeginError> {
        do throws(ControlError) {
            let known = try? proxy(name)
            if let known { try await known.beginAnew() }
            let proxy: ManagedProxy
            if let known {
                proxy = known
            } else {
                var definition = Definition(name: name, upstream: upstream)
                definition.listen = "127.0.0.1:0"
                definition.seed = seed
                definition.base = profile
                definition.baseReference = profile.name
                proxy = try await create(definition)
            }
            return .success(proxy.state.listen)
        } catch {
            return .failure(BeginError(description: error.text))
        }
    }

    /// The phase in which a proxy is; `nil` if there is none.
    public func phase(of name: String) -> String? { (try? proxy(name))?.state.running?.clock.phase }
}

/// The reason why a proxy didn't start.
public struct BeginError: Error, Sendable {
    /// One line for a message.
    public let description: String
}
