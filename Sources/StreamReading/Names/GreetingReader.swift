/// Reads the ClientHello of a client: the name of the server, and the protocols that it offers.
///
/// A value that takes bytes and returns what they mean; it does no I/O. It holds at most `sizeLimit` bytes, and the same
/// again of the message.
public struct GreetingReader: Sendable {
    /// The most bytes of a ClientHello: 16 KiB.
    public static let sizeLimit = 16 << 10

    /// What the bytes amount to.
    public enum Outcome: Hashable, Sendable {
        /// More bytes are needed.
        case incomplete
        /// The ClientHello is complete. Nothing more is to be read.
        case greeting(name: String?, protocols: [String])
        /// The bytes aren't a ClientHello, or not one within `sizeLimit`. Nothing more is to be read.
        case foreign
    }

    private var hello = ClientHello()
    /// The bytes that have come, from the first.
    public private(set) var bytes: [UInt8] = []

    /// Makes a reader that has read nothing.
    public init() {}

    /// The most bytes that may be read next, at least 1 while the outcome is `incomplete`.
    public var room: Int { GreetingReader.sizeLimit - bytes.count }

    /// Whether the bytes begin as a request of HTTP does: with a capital letter.
    public var isRequest: Bool { bytes.first.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } ?? false }

    /// Reads the next bytes of the client, at most `room`.
    public mutating func read(_ next: Span<UInt8>) -> Outcome {
        precondition(next.count <= room, "a ClientHello is read within a limit")
        for index in next.indices { bytes.append(next[index]) }
        // Leaves the array of the hello with one owner.
        var hello = self.hello
        self.hello = ClientHello()
        let outcome = hello.read(bytes.span)
        defer { self.hello = hello }
        if hello.isForeign { return .foreign }
        guard hello.isComplete else { return room == 0 ? .foreign : .incomplete }
        guard let protocols = hello.protocols() else { return .foreign }
        if case .name(let name) = outcome { return .greeting(name: name, protocols: protocols) }
        return .greeting(name: nil, protocols: protocols)
    }
}
