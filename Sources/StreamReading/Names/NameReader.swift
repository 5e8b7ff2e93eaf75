/// Finds the name of the server in a client's first bytes: in the SNI of a TLS ClientHello, or in the first request of HTTP/1.
///
/// A value that takes bytes and returns what they mean; it does no I/O. The name depends on the bytes alone, not on how they
/// are divided. Holds at most `sizeLimit` bytes, and the same again of a ClientHello.
///
/// | the client sends | the name |
/// |---|---|
/// | a TLS ClientHello | the host name of `server_name` (RFC 6066, section 3), with ECH that of the outer hello |
/// | a request with a path | the first `Host` (RFC 9112, section 3.2), without its port |
/// | a request with a URL, or CONNECT | the host of the target, whatever `Host` says |
/// | anything else, HTTP/2 included | none |
public struct NameReader: Sendable {
    /// The most bytes in which a name is looked for: 16 KiB.
    public static let sizeLimit = 16 << 10

    /// What the bytes amount to.
    public enum Outcome: Hashable, Sendable {
        /// More bytes are needed.
        case incomplete
        /// The name or numeric address, as the client sends it. Nothing more is to be read.
        case name(String)
        /// The bytes have no name, or none within `sizeLimit`. Nothing more is to be read.
        case none
    }

    private enum Part {
        case start
        case hello(ClientHello)
        case request(RequestHost)
    }

    private var part = Part.start
    /// The bytes that have come, from the first.
    public private(set) var bytes: [UInt8] = []

    /// Makes a reader that has read nothing.
    public init() {}

    /// Whether the bytes are a ClientHello, as far as they have come.
    public var isClientHello: Bool { if case .hello(let hello) = part { !hello.isForeign } else { false } }

    /// The most bytes that may be read next, at least 1 while the outcome is `incomplete`.
    public var room: Int { NameReader.sizeLimit - bytes.count }

    /// Reads the next bytes of the client, at most `room`.
    public mutating func read(_ next: Span<UInt8>) -> Outcome {
        precondition(next.count <= room, "a name is looked for within a limit")
        for index in next.indices { bytes.append(next[index]) }
        let outcome = advance()
        return outcome == .incomplete && room == 0 ? .none : outcome
    }

    private mutating func advance() -> Outcome {
        switch part {
        case .start:
            guard let first = bytes.first else { return .incomplete }
            part = first == ClientHello.handshakeRecord ? .hello(ClientHello()) : .request(RequestHost())
            return advance()
        case .hello(var hello):
            // Leaves the array of the hello with one owner.
            part = .start
            let outcome = hello.read(bytes.span)
            part = .hello(hello)
            return outcome
        case .request(var request):
            let outcome = request.read(bytes.span)
            part = .request(request)
            return outcome
        }
    }
}
