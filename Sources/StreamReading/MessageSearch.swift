/// Finds the first request in a connection that is read from its middle on.
///
/// Nobody knows where the message that passes ends. But a client that doesn't pipeline sends its next request after the
/// response, so a request begins where the client goes on after the server, with a method and a target. Content that follows
/// a `100 Continue` begins there as well, and isn't one.
struct MessageSearch {
    /// The attempts before the stream counts as one without HTTP messages: 16.
    static let attemptLimit = 16

    /// Whether the server may have been the last to send. At first nobody knows.
    private var isTurn = true
    private var attempts = 0

    /// Whether as many attempts as there may be have failed.
    var hasFailed: Bool { attempts >= MessageSearch.attemptLimit }

    /// Notes bytes of the server.
    mutating func serverSent() { isTurn = true }

    /// Whether the next bytes of the client begin a request.
    mutating func isRequest(_ bytes: Span<UInt8>) -> Bool {
        guard isTurn, !bytes.isEmpty else { return false }
        isTurn = false
        var line = StartLine.request
        if line.read(bytes), line.progress != .token { return true }
        attempts += 1
        return false
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
