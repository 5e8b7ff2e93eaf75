import EventLoop
import FaultProfile
import OperatingSystem

/// An error of starting or changing a proxy.
public enum ProxyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name to listen on, or to forward to, has no address.
    case unresolved(Endpoint, SystemError)
    /// Anybody who reaches the address could use the proxy as their own.
    case openToAnybody(Endpoint)
    /// The address can't be listened on.
    case cannotListen(Endpoint, SystemError)
    /// Connections would return to the first of these proxies, through the others in order.
    case forwardsToItself([String])
    /// The address has TLS, and the configuration has none for it, see `ProxyConfiguration.tls`.
    case withoutTLS(Endpoint)
    /// Clients that name their targets, or a Unix-domain socket, can't have TLS.
    case noTLSHere(Endpoint)
    /// A certificate of the profile can't be presented.
    case unusable(CertificateFile, TLSSessionFailure)
    /// The profile has no phase of the name, or never reaches it.
    case unknownPhase(String)
    /// The event loops or the proxy have been stopped.
    case stopped

    /// One line with the problem and the remedy.
    public var description: String {
        switch self {
        case .unresolved(let endpoint, let error):
            "can't find the address of “\(endpoint.host)”: \(error); check the spelling, or give a numeric address"
        case .openToAnybody(let endpoint):
            "on \(endpoint) other machines could use this proxy to reach any host: name those that may with "
                + "--allow-client, ask for a password with --proxy-password-file, or listen on 127.0.0.1"
        case .cannotListen(let endpoint, let error) where error.isAddressInUse && endpoint.unix != nil:
            "can't listen on \(endpoint): \(error); stop the program that listens there, or take another name"
        case .cannotListen(let endpoint, let error) where error.isAddressInUse:
            "can't listen on \(endpoint): \(error); stop what has the port, or take another (port 0 takes a free one)"
        case .cannotListen(let endpoint, let error) where error.isDenied && endpoint.unix == nil:
            "can't listen on \(endpoint): \(error); ports below 1024 may need root, take another"
        case .cannotListen(let endpoint, let error) where error.isAddressElsewhere:
            "can't listen on \(endpoint): \(error); this machine has no such address, and 0.0.0.0 listens on all of its own"
        case .cannotListen(let endpoint, let error):
            "can't listen on \(endpoint): \(error)"
        case .forwardsToItself(let names) where names.count < 2:
            "the proxy “\(names.first ?? "")” would forward to itself: its upstream is where it listens; "
                + "give the address of the server, or listen on another port"
        case .forwardsToItself(let names):
            "the proxies \(names.map { "“\($0)”" }.joined(separator: ", ")) would forward to each other in a ring; "
                + "give one of them the address of the server"
        case .withoutTLS(let endpoint):
            "\(endpoint): TLS isn't spoken here; leave “tls:” out, and it passes through as it is"
        case .noTLSHere(let endpoint):
            "\(endpoint): a forward proxy doesn't listen with TLS; leave “tls:” out"
        case .unusable(let file, let failure):
            "the certificate of \(file.file) can't be used: \(failure)"
        case .unknownPhase(let name):
            "the profile doesn't come to a phase “\(name)”; take the name of one of its phases"
        case .stopped:
            "the proxy's event loops have been stopped"
        }
    }
}
