import EventLoop
import OperatingSystem
import StreamReading
import Units

/// What a client says before its bytes flow, in memory that exists until they do: the handshake with a forward proxy, then
/// first bytes in which a name is looked for.
final class Preamble {
    /// The longest wait for more bytes after some that have no name yet: 1 s.
    private static let silenceLimit = Duration.seconds(1)
    /// The time limit for a name, from the first byte: 10 s.
    private static let nameLimit = Duration.seconds(10)

    /// What the client's bytes amount to.
    enum Step: Hashable {
        /// More of them are needed.
        case more
        /// The handshake has named a target.
        case target(ProxyTarget)
        /// The handshake has ended without a target; the reply says why.
        case refused
        /// The first bytes have a name.
        case name(String)
        /// The first bytes may pass.
        case pass
    }

    /// How far it has come.
    enum Part {
        /// The client names its target.
        case handshake
        /// A name is looked for in the first bytes.
        case name
        /// The listener makes the faults for the name.
        case awaitingFaults
        /// The first bytes pass, once no fault holds them up.
        case end
    }

    var part = Part.handshake
    var handshake: ProxyHandshake
    /// The client, if it is one of this process.
    let client: LocalClient?
    private var name = NameReader()
    /// The target, once it is known.
    private(set) var target: ProxyTarget?
    /// The addresses of the target, in the order of dialing.
    var addresses: [SocketAddress]
    /// What the last bytes amount to, if that waits to be followed.
    var pending = Step.more
    /// When to look again if nothing happens before. While the client has sent nothing there is no limit.
    var wake = Moment.distantFuture
    private var began: Moment?
    /// When a client of this process was asked first whether it is connected, while it connects.
    var handOverBegan: Moment?
    /// The replies that the client hasn't taken yet.
    var unsent: [UInt8] = []

    /// Begins with a handshake, if the client is to name its target. A `local` client has named it.
    init(_ handshake: ProxyHandshake = ProxyHandshake(), of local: LocalClient? = nil) {
        self.handshake = handshake
        client = local
        addresses = local.map { [$0.target] } ?? []
    }

    /// Whether the first bytes are a ClientHello of TLS.
    var isClientHello: Bool { name.isClientHello }
    /// Whether they have no name, rather than none in time.
    private(set) var isNameless = false

    var firstBytes: [UInt8] { name.bytes.isEmpty ? handshake.firstBytes : name.bytes }

    /// The most bytes that may be read next, at least 1 while more are needed.
    var room: Int { part == .handshake ? handshake.room : name.room }

    /// When the client is asked again whether it is connected: in 1 ms, or a quarter of the time that it has taken so far.
    func nextHandOver(at now: Moment) -> Moment {
        let began = handOverBegan ?? now
        handOverBegan = began
        return now + max(.milliseconds(1), (now - began) / 4)
    }

    /// Goes on with the first bytes, behind those that have come with the handshake.
    func beginFirstBytes(lookingForName isNamed: Bool, at now: Moment) {
        part = isNamed ? .name : .end
        let bytes = handshake.firstBytes
        if isNamed, !bytes.isEmpty { pending = read(bytes.span, at: now) }
    }

    /// Reads the client's next bytes, at most `room`. `reached` is the address by which it has reached the proxy.
    func read(_ next: Span<UInt8>, at now: Moment, reached: () -> ProxyTarget? = { nil }) -> Step {
        if part == .handshake {
            switch handshake.read(next, reached: reached) {
            case .incomplete: return .more
            case .failed: return .refused
            case .target(let target):
                self.target = target
                return .target(target)
            }
        }
        let began = began ?? now
        self.began = began
        wake = .distantFuture
        switch name.read(next) {
        case .name(let text): return .name(text)
        case .none:
            isNameless = true
            return .pass
        case .incomplete:
            wake = min(began + Preamble.nameLimit, now + Preamble.silenceLimit)
            return .more
        }
    }
}

extension SocketAddress {
    /// The address as a target; `nil` for a Unix-domain socket.
    var target: ProxyTarget? { unix == nil ? ProxyTarget(host: host, port: port) : nil }
}

extension HandshakeFailure {
    init(dialing error: SystemError) {
        if error.isRefused {
            self = .refused
        } else if error.isNetworkUnreachable {
            self = .networkUnreachable
        } else {
            self = error.code == SystemError.timedOut ? .timedOut : .hostUnreachable
        }
    }
}
