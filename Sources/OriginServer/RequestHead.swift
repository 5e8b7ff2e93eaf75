import HTTPTypes
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// A request's head, read and judged.
struct RequestHead: Sendable {
    /// The method and the target as they were sent, for the request log.
    let method: String
    let target: String
    /// What is to be done about it.
    let intent: Intent
    /// Whether the connection can go on after the answer, as far as the request is concerned.
    let keepsAlive: Bool
    /// Whether the client has to be told that the connection goes on: HTTP/1.0 doesn't take it for granted.
    let expectsKeepAliveField: Bool
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
    }

    init(_ head: HTTPRequestHead, drainedBytes: Int) {
        method = head.method.rawValue
        target = head.uri
        intent = Self.intent(of: head)
        let contentLength = head.headers.first(name: "content-length").map { Int($0) ?? .max } ?? 0
        let hasContent = contentLength > 0 || head.headers.contains(name: "transfer-encoding")
        // A client of HTTP/1.0 can't wait for an interim response (RFC 9110, section 10.1.1).
        let awaitsContinue =
            head.version != .http1_0
            && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
        isAnsweredEarly = contentLength > drainedBytes || hasContent && awaitsContinue
        // The decoder stops after a request that offers to change the protocol, and we never do.
        let offersUpgrade = head.method == .CONNECT || head.headers.contains(name: "upgrade")
        expectsKeepAliveField = head.version == .http1_0
        // RFC 9112, section 6.1: the framing of such a message is faulty.
        let isFramedByGuess = head.version == .http1_0 && head.headers.contains(name: "transfer-encoding")
        keepsAlive = head.isKeepAlive && !offersUpgrade && !isAnsweredEarly && !isFramedByGuess
    }

    private static func intent(of head: HTTPRequestHead) -> Intent {
        let hosts = head.headers["host"]
        // RFC 9112, section 3.2: exactly one, and a valid one.
        guard hosts.count == 1 || hosts.isEmpty && head.version == .http1_0 else {
            return .invalid("A request needs exactly one Host field.")
        }
        guard hosts.allSatisfy({ $0.utf8.allSatisfy(isAllowedInHost) }) else {
            return .invalid("The Host field is not a host.")
        }
        guard RequestLine.registeredMethods.contains(head.method.rawValue),
            let method = try? HTTPRequest.Method(head.method)
        else { return .notImplemented }
        switch method {
        case .get, .head:
            let target = RequestTarget(head.uri)
            guard target != .malformed, target != .server else { return .invalid("The request target is not valid.") }
            return .read(method, target, HTTPFields(head.headers, splitCookie: false))
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
