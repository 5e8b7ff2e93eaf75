import ControlAPI
import EventLoop
import FaultProfile
import ProfileFiles
import ProxyEngine
import ProxyRunners
import Synchronization
import TerminalDisplay

/// The TLS of the proxies of `squall serve`, made at the start if an option asks for it, and otherwise when the first proxy
/// needs it.
final class ServedTLS: Sendable {
    private let made: Mutex<(tls: ProxyTLS, trust: TrustFile?)?>
    private let services = CommandServices.current

    /// Makes what the options ask for. The secrets of a key log are in the capture as well.
    init(
        _ client: TLSOptions,
        _ options: ProxyTLSOptions,
        intercepting hosts: [HostPattern],
        capturing capture: Capture?,
        reading inputs: InputFiles
    ) throws(CommandFailure) {
        let isAsked = !(client.arguments + options.arguments).isEmpty || !hosts.isEmpty
        made = Mutex(isAsked ? try ServedTLS.make(client, options, hosts, capture, inputs) : nil)
    }

    private static func make(
        _ client: TLSOptions,
        _ options: ProxyTLSOptions,
        _ hosts: [HostPattern],
        _ capture: Capture? = nil,
        _ inputs: InputFiles = InputFiles()
    ) throws(CommandFailure) -> (tls: ProxyTLS, trust: TrustFile?) {
        // The names of proxies to come aren't known: their clients call this machine.
        let own = Endpoint(host: "localhost", port: 0, usesTLS: true)
        let profile = Profile(name: "")
        var sides = [ProxyConfiguration(name: "", listen: own, upstream: own, profile: profile, seed: 0)]
        if !hosts.isEmpty { sides.append(ProxyConfiguration(supervising: "", profile: profile, seed: 0)) }
        let trust = try options.apply(
            to: &sides,
            client: client,
            intercepting: hosts,
            capturing: capture,
            reading: inputs
        )
        for line in trust?.lines ?? [] { Console.print(line) }
        return (sides[0].tls, trust)
    }

    /// The TLS, which is made if a proxy needs it.
    func tls(isNeeded: Bool) -> Result<ProxyTLS?, BeginError> {
        made.withLock { made in
            do {
                if made == nil, isNeeded {
                    made = try CommandServices.$current.withValue(services) {
                        try ServedTLS.make(try TLSOptions.parse([]), try ProxyTLSOptions.parse([]), [])
                    }
                }
                return .success(made?.tls)
            } catch {
                return .failure(BeginError(description: "\(error)"))
            }
        }
    }

    /// Removes the file of the authority.
    func remove() { made.withLock { $0?.trust?.remove() } }
}
