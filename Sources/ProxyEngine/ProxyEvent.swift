import EventLoop
import FaultPlan
import OperatingSystem
import Units

/// A problem of a proxy that isn't a fault of its profile.
public enum ProxyEvent: Hashable, Sendable, CustomStringConvertible {
    /// The upstream's name has no address at the start of the proxy, which runs and looks it up again.
    case upstreamUnresolved(Endpoint, SystemError)
    /// The upstream could not be connected to; the client was reset, or its stream ended, see `EndingRules`.
    case upstreamUnreachable(Endpoint, SystemError)
    /// The target that a client has named, `host:port`, could not be connected to; the client was told.
    case targetUnreachable(String, SystemError)
    /// The policy forbids the target that a client has named, `host:port`; the client was told.
    case targetForbidden(String)
    /// The policy doesn't admit a client with this address; it was reset.
    case clientNotAllowed(String)
    /// Connections can't be accepted for the moment, for want of descriptors or memory.
    case cannotAccept(SystemError)
    /// The limit of connections was reached; a client was reset.
    case connectionLimitReached(Int)
    /// The proxy accepted a connection of its own, perhaps through other proxies; it was reset.
    case connectionFromItself(Endpoint)
    /// New addresses of the upstream lead back to the proxy; it keeps the old ones.
    case upstreamLeadsBack(Endpoint)
    /// A receiver did not take everything before a cut within the grace time and was reset all the same.
    case unacknowledgedAtReset(connection: UInt64, bytes: Int)
    /// The kernel can't leave connections unanswered; they connect, and the proxy doesn't accept them.
    case answersByItself
    /// The listening socket could not be brought back after an outage.
    case cannotListenAgain(SystemError)
    /// A stream isn't HTTP/1, so faults of HTTP messages can't act on it. Reported once for each reason.
    case streamUnread(UnreadReason)
    /// Faults of TLS can't act, because clients don't speak it with the proxy. Reported at the start, and when such come.
    case clientsWithoutTLS(faults: [String])
    /// Something has happened in the handshake of a client.
    case tls(connection: UInt64, TLSEvent)
    /// The machine was too busy: a fault acted this late, by `Statistics.noticedLateness` or more.
    case late(Duration)

    /// One line for a log.
    public var description: String {
        switch self {
        case .upstreamUnresolved(let endpoint, let error):
            "can't find the address of “\(endpoint.host)”: \(error); trying again once a second, and clients are reset until "
                + "then: check the spelling if it has none"
        case .upstreamUnreachable(let endpoint, let error):
            "can't reach the upstream \(endpoint): \(error); the client's connection was ended"
        case .targetUnreachable(let target, let error):
            "can't reach \(target): \(error); the client was told"
        case .targetForbidden(let target):
            "\(target) is an address of this machine or a link-local one; the client was refused "
                + "(--allow-local-targets lets it through)"
        case .clientNotAllowed(let host):
            "a client at \(host) is not among those of --allow-client; it was reset"
        case .cannotAccept(let error):
            "can't accept connections: \(error); trying again every 100 ms"
        case .connectionLimitReached(let limit):
            "\(limit) connections are open, which is the limit; a client was reset"
        case .connectionFromItself(let upstream):
            "the upstream \(upstream) leads back to the proxy; a connection that came from itself was reset"
        case .upstreamLeadsBack(let upstream):
            "the addresses that the upstream \(upstream) has now lead back to the proxy; it forwards to those from before"
        case .unacknowledgedAtReset(let connection, let bytes):
            "connection \(connection): \(bytes) bytes before the reset were not taken by the receiver in time"
        case .answersByItself:
            "the system answers clients of a listening socket by itself: one will find itself connected, and hear nothing"
        case .cannotListenAgain(let error):
            "can't listen again after the outage: \(error); trying again every 100 ms"
        case .streamUnread(.tls):
            UnreadReason.tls.sentence
                + "; Squall reads it where it speaks TLS itself: tls: in front of the addresses, or --intercept with the host"
        case .streamUnread(let reason):
            reason.sentence
        case .clientsWithoutTLS(let faults):
            "faults of TLS can't act on clients without it (\(faults.joined(separator: ", "))): write --listen tls:HOST:PORT, or "
                + "--intercept HOST with squall exec or --forward-proxy"
        case .tls(let connection, let event):
            "connection \(connection): \(event.sentence)"
        case .late(let lateness):
            "the machine is too busy to keep the times of the profile: \(lateness.nanoseconds / 1_000_000) ms late"
        }
    }
}
