import HTTPTypes

/// A request's head, read and judged.
struct RequestHead: Sendable {
    /// The method and the target as they were sent, for the request log.
    let method: String
    let target: String
    /// What is to be done about it.
    let intent: Intent
    /// Whether the connection can go on after the answer, as far as the request is concerned.
    let keepsAlive: Bool
    /// Whether the answer mustn't wait for the content: the client waits to be told to send it
    /// (`Expect: 100-continue`), or there is more of it than the server drains.
    let isAnsweredEarly: Bool

    /// The query of the target without its question mark, as it was sent; `nil` for none.
    var query: String? {
        target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    /// What a request is for.
    enum Intent: Sendable {
        /// A file, whole or in part.
        case read(HTTPRequest.Method, RequestTarget, HTTPFields)
        /// What can be done with the target.
        case options
        /// A registered method that isn't allowed here: 405.
        case notAllowed
        /// A method that this server doesn't know: 501.
        case notImplemented
        /// A request that isn't valid: 400, and why.
        case invalid(String)
        /// A request beyond a limit.
        case rejected(ConnectionStateMachine.Rejection)
    }

    init(_ request: HTTPRequest, _ traits: RequestTraits, limits: OriginLimits) {
        method = request.method.rawValue
        target = request.path ?? request.authority ?? ""
        intent = Self.intent(of: request, traits, target: target, limits)
        let hasContent = traits.contentLength != 0
        isAnsweredEarly =
            (traits.contentLength ?? 0) > limits.drainedBytes || hasContent && request.awaitsContinue
        keepsAlive = traits.keepsAlive && !isAnsweredEarly
    }

    /// Whether the request is valid enough to be dispatched on.
    var isValid: Bool {
        switch intent {
        case .invalid, .notImplemented, .rejected: false
        case .read, .options, .notAllowed: true
        }
    }

    private static func intent(
        of request: HTTPRequest,
        _ traits: RequestTraits,
        target: String,
        _ limits: OriginLimits
    ) -> Intent {
        // By HTTP/1 these were found in the request line, and by the decoder.
        if target.utf8.count > RequestTarget.maximumLength { return .rejected(.targetTooLong) }
        if request.headerFields.count > limits.headFields { return .rejected(.headTooLarge) }
        if let problem = traits.problem { return .invalid(problem) }
        let hosts = request.headerFields[values: .host] + (request.authority.map { [$0] } ?? [])
        // RFC 9113, section 8.3.1: one of the two, or both with the same value.
        guard Set(hosts).count == 1 || hosts.isEmpty && traits.isHTTP10 else {
            return .invalid("A request needs exactly one host.")
        }
        guard hosts.allSatisfy({ $0.utf8.allSatisfy(isAllowedInHost) }) else {
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

    /// The characters of `uri-host [ ":" port ]` (RFC 3986, section 3.2.2).
    private static func isAllowedInHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default:
            "-._~%!$&'()*+,;=[]:".utf8.contains(byte)
        }
    }
}

extension HTTPRequest {
    /// Whether the client waits for a 100 response before it sends content (RFC 9110, section 10.1.1).
    var awaitsContinue: Bool {
        headerFields[values: .expect].contains { value in
            value.split(separator: ",").contains { $0.trimmingWhitespace.lowercased() == "100-continue" }
        }
    }
}

extension Substring {
    fileprivate var trimmingWhitespace: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
