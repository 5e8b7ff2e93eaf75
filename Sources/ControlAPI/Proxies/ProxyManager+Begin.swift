import EventLoop
import FaultProfile
import ProxyEngine

extension ProxyManager {
    /// Starts a proxy from the beginning of its profile: its clock shows zero, and its connections count from 1.
    ///
    /// One that exists keeps its address, its toxics and added faults, and the profile that it has by now; its connections
    /// are closed. Another one is made with `profile` on a free port of 127.0.0.1.
    ///
    /// - Returns: the address on which it listens, or what kept it from starting.
    package func begin(
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
                var state = ManagedProxy.State(upstream: upstream, seed: seed)
                (state.listen, state.base, state.baseReference) = ("127.0.0.1:0", profile, profile.name)
                proxy = try await create(Definition(name: name, state: state))
            }
            return .success(proxy.state.address)
        } catch {
            return .failure(BeginError(description: error.text))
        }
    }

    /// The name of the forward proxy that `beginForward` makes: "forward".
    package static let forwardName = "forward"

    /// Makes the proxy whose clients name their targets, or moves it to `listen` if a state file or a list has made it.
    ///
    /// - Returns: the address on which it listens, or what kept it from starting.
    package func beginForward(on listen: Endpoint) async -> Result<SocketAddress, BeginError> {
        let name = ProxyManager.forwardName
        do throws(ControlError) {
            let known = try? proxy(name)
            if let known, known.state.upstream != ListenText.anyHost {
                throw .conflict("a proxy with an upstream has the name “\(name)” of the explicit one")
            }
            if let known {
                try await known.update(listen: listen.description, isEnabled: true)
            } else {
                var definition = definition(name, upstream: ListenText.anyHost)
                definition.state.listen = listen.description
                try await create(definition)
            }
            guard let running = try proxy(name).state.running else { throw .stopped }
            return .success(running.address)
        } catch {
            return .failure(BeginError(description: error.text))
        }
    }

    /// Makes the proxy of a command's connections. No request moves it or removes it; one may disable it, and the command's
    /// connections are refused then.
    ///
    /// - Parameters:
    ///   - configuration: how it is to be, with its profile at the start.
    ///   - begun: called with the proxy, and with each that takes its place.
    ///   - changes: called with the profile, and whether the proxy is to run, before each start, and before each change of
    ///     what runs.
    package func beginSupervised(
        _ configuration: ProxyConfiguration,
        begun: @escaping @Sendable (Proxy) -> Void,
        changes: @escaping @Sendable (Profile, _ isEnabled: Bool) -> Void
    ) async -> Result<Proxy, BeginError> {
        do throws(ControlError) {
            var state = ManagedProxy.State(upstream: ListenText.anyHost, seed: configuration.seed)
            state.listen = ManagedProxy.Supervised.place
            // Without faults the command has no profile that could be removed.
            if configuration.profile != Profile(name: "none") {
                (state.base, state.baseReference) = (configuration.profile, configuration.profile.name)
            }
            let supervised = ManagedProxy.Supervised(configuration: configuration, begun: begun, changes: changes)
            let proxy = try await create(Definition(name: configuration.name, state: state), supervised: supervised)
            guard let running = proxy.state.running else { throw .stopped }
            return .success(running)
        } catch {
            return .failure(BeginError(description: error.text))
        }
    }

    /// The phase in which a proxy is; `nil` if there is none.
    package func phase(of name: String) -> String? { (try? proxy(name))?.state.running?.clock.phase }
}

/// The reason why a proxy didn't start.
package struct BeginError: Error, Sendable {
    /// One line for a message.
    package let description: String

    /// Makes an error with its line.
    package init(description: String) { self.description = description }
}
