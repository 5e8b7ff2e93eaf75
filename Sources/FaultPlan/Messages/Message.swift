import FaultProfile
import Units

/// What is known of an HTTP message when its head has passed by.
public struct Message: Hashable, Sendable {
    /// The number of its request on the connection, from 1; a response has that of its request.
    public var request: Int64
    /// The method of the request.
    public var method: String
    /// The target of the request, as it was sent.
    public var target: String
    /// The fields of the request, in order, with names as they were sent; none where no fault asks for them.
    public var fields: [Field]
    /// The status code of a response; `nil` for a request.
    public var status: Int?
    /// Where in the resource the message's content begins; `nil` when it is no part of one that is known.
    public var resourceStart: Int64?

    /// A field of a message's head.
    public struct Field: Hashable, Sendable {
        /// The name, as it was sent.
        public var name: String
        /// The value.
        public var value: String

        /// Makes a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Makes a message; that of a response has what is known of its request.
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

    /// The target without what stands in front of its path, and without its query unless `withQuery`.
    func path(withQuery: Bool) -> String {
        var path = target[...]
        if !path.hasPrefix("/"), let slashes = path.firstRange(of: "://") {
            let rest = path[slashes.upperBound...]
            path = rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
        }
        if !withQuery, let query = path.firstIndex(of: "?") { path = path[..<query] }
        return String(path)
    }
}

/// A position that whoever reads the bytes has found in a stream, before a link is told of the bytes.
///
/// Offsets count the bytes that came from the source, those included that vanish on their way.
public enum Mark: Hashable, Sendable {
    /// The first byte of a message's head is the one behind `at` bytes.
    case message(Message, at: Int64)
    /// `count` bytes of the message's content begin behind `at` bytes, `offset` of it having come before.
    case body(offset: Int64, at: Int64, count: Int64)
    /// The message ends behind `at` bytes.
    case end(at: Int64)
    /// From here on the stream isn't read, for a reason.
    case unreadable(at: Int64, why: UnreadReason)
    /// The pattern of a fault, by its index, ends behind `at` bytes.
    case pattern(fault: Int, at: Int64)

    /// The offset that it tells of.
    public var offset: Int64 {
        switch self {
        case .message(_, let at), .body(_, let at, _), .end(let at), .unreadable(let at, _), .pattern(_, let at): at
        }
    }

    /// The mark at another offset.
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

/// Where a fault struck, for the journal, if it counts in messages.
public struct MessagePlace: Hashable, Sendable {
    /// What the strike's offset is counted in.
    public var origin: Origin
    /// The number of the request on its connection, from 1.
    public var request: Int64

    /// Makes a place.
    public init(origin: Origin, request: Int64) {
        self.origin = origin
        self.request = request
    }
}
