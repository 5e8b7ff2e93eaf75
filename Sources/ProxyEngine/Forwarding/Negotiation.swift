import EventLoop
import OperatingSystem
import StreamReading

/// The handshake of one connection whose client names its target, in memory that exists until the bytes flow.
final class Negotiation {
    /// The result of sending the replies.
    enum Sending {
        case done
        /// The client's socket is full.
        case blocked
        /// The client's connection is broken.
        case failed
    }

    var handshake: ProxyHandshake
    /// The target, once it is known.
    var target: ProxyTarget?
    /// The addresses of the target, in the order of dialing.
    var addresses: [SocketAddress] = []
    /// What the last bytes amount to, while the answer waits.
    var pending: ProxyHandshake.Outcome?
    private var unsent: [UInt8] = []

    init(_ handshake: ProxyHandshake) {
        self.handshake = handshake
    }

    /// Sends the replies of the handshake that have not been sent, in order.
    func sendReplies(to client: StreamSocket) -> Sending {
        unsent += handshake.takeReply()
        while !unsent.isEmpty {
            guard client.isWritable else { return .blocked }
            client.loop.fillScratch(with: unsent)
            switch client.sendScratch(from: 0, length: unsent.count) {
            case .sent(let count): unsent.removeFirst(count)
            case .wouldBlock: return .blocked
            case .failed: return .failed
            }
        }
        return .done
    }
}

extension SocketAddress {
    /// The address as a target; `nil` for a Unix-domain socket.
    var target: ProxyTarget? { unix == nil ? ProxyTarget(host: host, port: port) : nil }
}

extension HandshakeFailure {
    /// The failure for an error of dialing.
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
