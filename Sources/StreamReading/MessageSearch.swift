/// Finds the first request in a connection that is read from its middle on.
///
/// Nobody knows where the message that passes ends. But a client that doesn't pipeline sends its next request after the
/// response, so a request begins where the client goes on after the server, with a method and a target. Content that follows
/// a `100 Continue` begins there as well, and isn't one. If the server is the first to send, a response may be under
/// way, and the client's next request may come before its end.
struct MessageSearch {
    /// The attempts before the stream counts as one without HTTP messages: 16.
    static let attemptLimit = 16

    /// Whether the client's next bytes may follow a complete response.
    private var isTurn = true
    /// Whether the client has sent nothing so far.
    private var isFirst = true
    private var attempts = 0

    /// What the next bytes of a client are.
    enum Finding {
        /// The beginning of a request.
        case request
        /// A token that may become the method of one, so that the next bytes decide.
        case token
        /// No beginning of a request.
        case nothing
        /// None again, as often as there are attempts.
        case failure
    }

    /// Notes bytes of the server.
    mutating func serverSent() { isTurn = !isFirst }

    /// Looks at the next bytes of the client, those after a token with it in front.
    mutating func look(at bytes: Span<UInt8>) -> Finding {
        guard !bytes.isEmpty else { return .nothing }
        isFirst = false
        guard isTurn else { return .nothing }
        var line = StartLine.request
        guard line.read(bytes) else { return miss() }
        return line.progress == .token ? .token : .request
    }

    /// Ends a turn without a request.
    mutating func miss() -> Finding {
        isTurn = false
        attempts += 1
        return attempts < MessageSearch.attemptLimit ? .nothing : .failure
    }
}

/// How far the HTTP messages of a connection are known.
public enum MessageReading: Hashable, Sendable {
    /// No fault asks for messages.
    case unneeded
    /// Messages are read, so faults act on them.
    case read
    /// Messages are read from the next request on.
    case awaited
    /// The stream isn't read as HTTP/1, so faults of messages don't act on it.
    case unreadable
}
