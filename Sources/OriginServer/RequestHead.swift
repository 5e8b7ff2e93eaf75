import HTTPSemantics
import HTTPTypes
import ResumableUploads

/// A parsed and validated request head.
struct RequestHead: Sendable {
    /// The method and target as sent, for the request log.
    let method: String
    let target: String
    /// The requested action.
    let intent: Intent
    /// Whether the request allows the connection to continue after the response.
    let keepsAlive: Bool
    /// Whether the response mustn't wait for the content: the client waits for a 100 (`Expect: 100-continue`), or the
    /// content exceeds the discard limit.
    let isRespondedEarly: Bool

    /// The query as sent, without its question mark; `nil` for none.
    var query: String? {
        target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    /// The purpose of a request.
    enum Intent: Sendable {
        /// Read a file, completely or in part.
        case read(HTTPRequest.Method, RequestTarget, HTTPFields)
        /// List the allowed methods.
        case options
        /// A registered method that isn't allowed here: 405.
        case notAllowed
        /// An unknown method: 501.
        case notImplemented
        /// A transfer coding that isn't decoded (RFC 9112, section 6.1): 501.
        case coded
        /// An invalid request: 400, with the reason.
        case invalid(String)
        /// A request above a limit.
        case rejected(ConnectionStateMachine.Rejection)
    }

    init(_ request: HTTPRequest, _ traits: RequestTraits, limits: OriginLimits) {
        method = request.method.rawValue
        target = request.path ?? request.authority ?? ""
        intent = Self.intent(of: request, traits, target: target, limits)
        let hasContent = traits.contentLength != 0
        isRespondedEarly =
            (traits.contentLength ?? 0) > limits.maximumDiscardedBytes || hasContent && request.awaitsContinue
        keepsAlive = traits.keepsAlive && !isRespondedEarly
    }

    /// Whether the request is valid enough for dispatch.
    var isValid: Bool {
        switch intent {
        case .invalid, .notImplemented, .coded, .rejected: false
        case .read, .options, .notAllowed: true
        }
    }

    private static func intent(
        of request: HTTPRequest,
        _ traits: RequestTraits,
        target: String,
        _ limits: OriginLimits
    ) -> Intent {
        // For HTTP/1 the request line handler and decoder have checked these.
        if target.utf8.count > RequestTarget.maximumLength { return .rejected(.targetTooLong) }
        if request.headerFields.count > limits.headFields { return .rejected(.headTooLarge) }
        if let problem = traits.problem { return .invalid(problem) }
        if traits.isCoded { return .coded }
        let hosts = request.headerFields[values: .host] + (request.authority.map { [$0] } ?? [])
        // RFC 9113, section 8.3.1: one of them, or both with the same value.
        guard Set(hosts).count == 1 || hosts.isEmpty && traits.isHTTP10 else {
            return .invalid("A request needs exactly one host.")
        }
        // The characters of `uri-host [ ":" port ]` (RFC 3986, section 3.2.2).
        let punctuation = "-._~%!$&'()*+,;=[]:".utf8
        guard hosts.allSatisfy({ $0.utf8.allSatisfy { $0.isLetter || $0.isDigit || punctuation.contains($0) } }) else {
            return .invalid("The Host field is not a host.")
        }
        guard RequestLine.registeredMethods.contains(request.method.rawValue) else { return .notImplemented }
        switch request.method {
        case .get, .head:
            let parsed = RequestTarget(target)
            guard parsed != .malformed, parsed != .server else { return .invalid("The request target is not valid.") }
            return .read(request.method, parsed, request.headerFields)
        case .options:
            return .options
        default:
            return .notAllowed
        }
    }
}
