@testable import StreamReading

/// A handshake that is fed with bytes.
struct HandshakeRun {
    var handshake: ProxyHandshake
    var outcome = ProxyHandshake.Outcome.incomplete
    var replies: [UInt8] = []

    init(_ bytes: [UInt8], password: String? = nil, readSize: Int = .max) {
        handshake = ProxyHandshake(password: password.flatMap { ProxyPassword($0) })
        var rest = bytes[...]
        while !rest.isEmpty, outcome == .incomplete {
            let next = Array(rest.prefix(min(readSize, handshake.room)))
            rest = rest.dropFirst(next.count)
            outcome = handshake.read(next.span)
            replies += handshake.takeReply()
        }
    }

    init(_ text: String, password: String? = nil, readSize: Int = .max) {
        self.init(Array(text.utf8), password: password, readSize: readSize)
    }

    var target: String? { if case .target(let target) = outcome { "\(target)" } else { nil } }

    /// The bytes of the reply as text.
    var reply: String { String(decoding: replies, as: UTF8.self) }

    /// The status line of a response.
    var status: String { String(reply.prefix { $0 != "\r\n" }) }

    /// What the server gets first.
    var first: String { String(decoding: handshake.firstBytes, as: UTF8.self) }
}
