/// The reason why the handshake with a client of a forward proxy fails.
public enum HandshakeFailure: Hashable, Sendable, CaseIterable {
    /// The bytes are no request that a proxy understands.
    case malformed
    /// The request is for the proxy itself, which serves nothing.
    case noSuchPage
    /// The request is for the proxy itself, and its method changes something.
    case methodNotAllowed
    /// The password is missing or wrong.
    case passwordNeeded
    /// The handshake has not ended in its time.
    case tooSlow
    /// The handshake is longer than `ProxyHandshake.sizeLimit`.
    case tooLong
    /// The proxy may not connect to the target.
    case forbidden
    /// The name of the target has no address.
    case unresolved
    /// The target refuses connections.
    case refused
    /// The target's network can't be reached.
    case networkUnreachable
    /// The target can't be reached.
    case hostUnreachable
    /// The target didn't answer in time.
    case timedOut
    /// The proxy can't take on another target now.
    case overloaded

    /// The HTTP status (RFC 9110, section 15).
    var status: Int {
        switch self {
        case .malformed: 400
        case .noSuchPage: 404
        case .methodNotAllowed: 405
        case .passwordNeeded: 407
        case .tooSlow: 408
        case .tooLong: 431
        case .forbidden: 403
        case .unresolved, .refused, .networkUnreachable, .hostUnreachable: 502
        case .overloaded: 503
        case .timedOut: 504
        }
    }

    /// The field that the status requires, with its line end.
    var field: String {
        switch self {
        case .methodNotAllowed: "Allow: GET, HEAD\r\n"
        case .passwordNeeded: "Proxy-Authenticate: Basic realm=\"squall\", charset=\"UTF-8\"\r\n"
        case .malformed, .noSuchPage, .tooSlow, .tooLong, .forbidden, .unresolved, .refused, .networkUnreachable,
            .hostUnreachable, .timedOut, .overloaded:
            ""
        }
    }

    /// The reply code of SOCKS5 (RFC 1928, section 6).
    var socksCode: UInt8 {
        switch self {
        case .malformed, .noSuchPage, .methodNotAllowed, .passwordNeeded, .tooSlow, .tooLong, .overloaded: 1
        case .forbidden: 2
        case .networkUnreachable: 3
        case .unresolved, .hostUnreachable: 4
        case .refused: 5
        case .timedOut: 6
        }
    }

    /// The response to a request that fails, with `sentence` as its content; the connection ends after it. A response to HEAD
    /// has no content.
    func response(_ sentence: String, toHead isHead: Bool) -> [UInt8] {
        let fields = "\(field)Content-Type: text/plain; charset=utf-8\r\n"
        return AnswerText.last(status, fields, "squall: \(sentence)\n", toHead: isHead)
    }
}
