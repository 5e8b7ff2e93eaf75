import EventLoop
import OperatingSystem
import ProxyEngine
import Units

/// What all proxies of a control server share.
struct ControlContext: Sendable {
    let loops: EventLoopGroup
    let journal: JournalHub
    let captures = CaptureControl()
    /// The start of every proxy's clock; `nil` for the start of the proxy.
    var clockStart: Moment?
    /// Whether connections end as those of Toxiproxy do.
    let isStrict: Bool
    /// The policy of forward proxies; `nil` if there may be none.
    var forwardPolicy: ForwardPolicy?
    /// Looks up names.
    let resolve: @Sendable (Endpoint) async throws(SystemError) -> [SocketAddress]
    /// The TLS of proxies, see `ProxyManager.init`; `nil` without any.
    var makeTLS: (@Sendable (_ isNeeded: Bool) -> Result<ProxyTLS?, BeginError>)?
    /// Called for the problems of a proxy that aren't faults, with its name.
    let report: @Sendable (String, ProxyEvent) -> Void

    /// The TLS of a proxy; `nil` if none was made and it needs none.
    func tls(for configuration: ProxyConfiguration) throws(ControlError) -> ProxyTLS? {
        guard let makeTLS else { return nil }
        let isNeeded = configuration.listen.usesTLS || configuration.destination.upstream?.usesTLS ?? false
        do throws(BeginError) {
            return try makeTLS(isNeeded).get()
        } catch {
            throw .invalid(error.description)
        }
    }
}
