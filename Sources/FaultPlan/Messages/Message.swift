import FaultProfile
import Units

/// An HTTP message, as known after its head.
public struct Message: Hashable, Sendable {
    /// The number of the request on the connection, from 1; a response has its request's number.
    public var request: Int64
    /// The method of the request.
    public var method: String
    /// The target of the request as sent; may be empty if no fault needs it.
    public var target: String
    /// The request's fields that faults need, in order, with names as sent; may include others.
    public var fields: [Field]
    /// The status code of a response; `nil` for a request.
    public var status: Int?
    /// The offset of the content within its resource; `nil` if unknown.
    public var resourceStart: Int64?

    /// A field of a message's head.
    public struct Field: Hashable, Sendable {
        /// The name as sent.
        public var name: String
        /// The value.
        public var value: String

        /// Makes a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Compares the name without regard to case (RFC 9110, section 5.1).
        func isNamed(_ other: String) -> Bool {
            let (own, other) = (name.utf8.span, other.utf8.span)
            guard own.count == other.count else { return false }
            for index in own.indices where Field.lowercased(own[index]) != Field.lowercased(other[index]) {
                return false
            }
            return true
        }

        private static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
    }

    /// Makes a message; a response carries the data of its request.
    public init(
        request: Int64,
        method: String,
        target: String,
        fields: [Field] = [],
        status: Int? = nil,
        resourceStart: Int64? = nil
    ) {
        self.request = request
        self.method = method
        self.target = target
        self.fields = fields
        self.status = status
        self.resourceStart = resourceStart
    }

    /// Whether this is an informational response (1xx).
    var isInformational: Bool { status.map { $0 < 200 } ?? false }

    /// Whether the target's path matches `pattern`; the query counts only if the pattern has one.
    func hasPath(like pattern: TextPattern) -> Bool {
        let target = target.utf8.span
        var path = 0..<target.count
        if target.isEmpty || target[0] != UInt8(ascii: "/"), let host = Message.hostStart(target) {
            guard let slash = Message.firstIndex(of: UInt8(ascii: "/"), in: target, from: host) else {
                return pattern.matches("/")
            }
            path = slash..<target.count
        }
        let question = UInt8(ascii: "?")
        if let query = Message.firstIndex(of: question, in: target, from: path.lowerBound),
            !pattern.text.utf8.contains(question)
        {
            path = path.lowerBound..<query
        }
        return pattern.matches(target.extracting(path))
    }

    /// Where the host of a target in absolute form begins, after “://”.
    private static func hostStart(_ target: Span<UInt8>) -> Int? {
        var start = 0
        while let colon = firstIndex(of: UInt8(ascii: ":"), in: target, from: start) {
            let slash = UInt8(ascii: "/")
            if colon + 2 < target.count, target[colon + 1] == slash, target[colon + 2] == slash { return colon + 3 }
            start = colon + 1
        }
        return nil
    }

    private static func firstIndex(of byte: UInt8, in bytes: Span<UInt8>, from start: Int) -> Int? {
        for index in start..<bytes.count where bytes[index] == byte { return index }
        return nil
    }
}

/// A position that the reader has found in a stream, before the link takes the bytes.
///
/// Offsets count source bytes, including those that faults remove.
public enum Mark: Hashable, Sendable {
    /// A message's head starts after `at` bytes.
    case message(Message, at: Int64)
    /// `count` bytes of the message's content, from its byte `offset`, start after `at` bytes.
    case body(offset: Int64, at: Int64, count: Int64)
    /// The message ends after `at` bytes.
    case end(at: Int64)
    /// From here on the stream isn't read, for a reason.
    case unreadable(at: Int64, why: UnreadReason)
    /// The pattern of a fault, by its index, ends after `at` bytes.
    case pattern(fault: Int, at: Int64)

    /// The offset of the mark.
    public var offset: Int64 {
        switch self {
        case .message(_, let at), .body(_, let at, _), .end(let at), .unreadable(let at, _), .pattern(_, let at): at
        }
    }

    func moved(to offset: Int64) -> Mark {
        switch self {
        case .message(let message, _): .message(message, at: offset)
        case .body(let bodyOffset, _, let count): .body(offset: bodyOffset, at: offset, count: count)
        case .end: .end(at: offset)
        case .unreadable(_, let why): .unreadable(at: offset, why: why)
        case .pattern(let fault, _): .pattern(fault: fault, at: offset)
        }
    }
}

/// The request and the base of an offset that counts in messages, for the journal.
public struct MessagePlace: Hashable, Sendable {
    /// The base of the event's offset.
    public var base: OffsetBase
    /// The number of the request on its connection, from 1.
    public var request: Int64

    /// Makes a place.
    public init(base: OffsetBase, request: Int64) {
        self.base = base
        self.request = request
    }
}
