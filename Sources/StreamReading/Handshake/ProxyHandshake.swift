/// The handshake of one client of a forward proxy, in which it names its target: HTTP or SOCKS5, by the first byte.
///
/// A value that takes bytes and returns what they mean; it does no I/O. It holds at most `sizeLimit` bytes.
///
/// | the client sends | protocol |
/// |---|---|
/// | `CONNECT host:port HTTP/1.1` | HTTP tunnel (RFC 9110, section 9.3.6) |
/// | `GET http://host/path HTTP/1.1` | HTTP in absolute form (RFC 9112, section 3.2.2) |
/// | 5 … | SOCKS5 (RFC 1928, RFC 1929) |
public struct ProxyHandshake: Sendable {
    /// The most bytes of a handshake, and of what a client sends along with it: 16 KiB.
    public static let sizeLimit = 16 << 10

    /// What the bytes amount to.
    public enum Outcome: Hashable, Sendable {
        /// More bytes are needed.
        case incomplete
        /// The client asks for a connection to the target. Nothing more is to be read.
        case target(ProxyTarget)
        /// The handshake has ended without a target; `takeReply` has the error, or the file that was asked for. Nothing
        /// more is to be read.
        case failed
    }

    private enum Part {
        /// Before the first byte.
        case start
        case http(HandshakeHead)
        case socks(SOCKSHandshake)
        /// The target of CONNECT or of a request in absolute form is known.
        case tunnel
        case request(isHead: Bool)
        case failed
    }

    private let password: ProxyPassword?
    /// The certificate that clients have to trust, in PEM format, if there is one.
    private let authority: String?
    private var part = Part.start
    /// The bytes that have come and belong to no finished message.
    private var bytes: [UInt8] = []
    private var total = 0
    private var reply: [UInt8] = []
    private var passwordTry: Bool?

    /// The first bytes for the server: the head of a request in absolute form in its origin form, then what the client has
    /// sent along. Known with the target.
    public private(set) var firstBytes: [UInt8] = []
    /// The end of a request in absolute form, after `firstBytes`; `nil` for tunnels.
    public private(set) var boundary: RequestBoundary?

    /// Begins a handshake. Clients must give the password, if there is one.
    ///
    /// - Parameter authority: the certificate that clients have to trust, in PEM format; `nil` for none.
    public init(password: ProxyPassword? = nil, authority: String? = nil) {
        (self.password, self.authority) = (password, authority)
    }

    /// The most bytes that may be read next, at least 1 while the handshake is incomplete.
    public var room: Int { ProxyHandshake.sizeLimit - total }

    /// Takes the replies that are to be sent to the client now.
    public mutating func takeReply() -> [UInt8] {
        defer { reply = [] }
        return reply
    }

    /// Takes the result of the last password that the client has given: whether it is right; `nil` if there is no new one.
    public mutating func takePasswordTry() -> Bool? {
        defer { passwordTry = nil }
        return passwordTry
    }

    /// Reads the next bytes of the client, at most `room`.
    ///
    /// - Parameter reached: the address of the proxy by which the client has reached it, if known; called only for a request
    ///   that doesn't name it, or for a page of the proxy.
    public mutating func read(_ next: Span<UInt8>, reached: () -> ProxyTarget? = { nil }) -> Outcome {
        precondition(next.count <= room, "a handshake is longer than its limit")
        total += next.count
        for index in next.indices { bytes.append(next[index]) }
        let outcome = advance(reached)
        if outcome == .incomplete, room == 0 {
            return fail(.tooLong, "the request's head has more than \(ProxyHandshake.sizeLimit) bytes")
        }
        return outcome
    }

    /// The target is connected: the client is to be told, where its protocol does that.
    public mutating func succeed() {
        switch part {
        case .tunnel: reply += "HTTP/1.1 200 Connection established\r\n\r\n".utf8
        case .socks: reply += SOCKSHandshake.reply(0)
        case .start, .http, .request, .failed: break
        }
    }

    /// The target can't be connected to, or the time is over: the client is to be told in its protocol, in HTTP with
    /// `sentence`. Does nothing after a failure.
    @discardableResult
    public mutating func fail(_ failure: HandshakeFailure, _ sentence: String) -> Outcome {
        switch part {
        case .failed, .start:
            break
        case .socks(let socks):
            if socks.awaitsReply { reply += SOCKSHandshake.reply(failure.socksCode) }
        case .http, .tunnel:
            reply += failure.response(sentence, toHead: false)
        case .request(let isHead):
            reply += failure.response(sentence, toHead: isHead)
        }
        part = .failed
        return .failed
    }

    private mutating func advance(_ reached: () -> ProxyTarget?) -> Outcome {
        switch part {
        case .start:
            guard let first = bytes.first else { return .incomplete }
            switch first {
            case SOCKSHandshake.version:
                part = .socks(SOCKSHandshake(password: password))
            case 4:
                // SOCKS4 has no reply code for its successor: “rejected or failed”.
                reply += [0, 0x5B, 0, 0, 0, 0, 0, 0]
                part = .failed
                return .failed
            default:
                part = .http(HandshakeHead(.proxyRequest))
            }
            return advance(reached)
        case .socks(var socks):
            return advance(&socks)
        case .http(var head):
            let progress = head.read(bytes.span)
            part = .http(head)
            switch progress {
            case .incomplete: return .incomplete
            case .invalid: return fail(.malformed, ProxyHandshake.hint)
            case .complete(let end): return finish(head, end: end, reached)
            }
        case .tunnel, .request, .failed:
            preconditionFailure("nothing is read after the end of a handshake")
        }
    }

    private static let authorityPath = "/authority.pem"

    private static let hint =
        "this port is an HTTP and SOCKS5 proxy, and these bytes are neither CONNECT host:port, nor a request for "
        + "http://host/, nor SOCKS5"

    // MARK: SOCKS

    private mutating func advance(_ socks: inout SOCKSHandshake) -> Outcome {
        while true {
            let before = socks.hasRightPassword
            let result = socks.read(bytes.span)
            if before == nil { passwordTry = socks.hasRightPassword }
            reply += socks.replies
            socks.replies = []
            part = .socks(socks)
            switch result {
            case .incomplete:
                return .incomplete
            case .message(let size):
                bytes.removeFirst(size)
            case .request(let target, let size):
                firstBytes = Array(bytes[size...])
                bytes = []
                return .target(target)
            case .failed:
                part = .failed
                return .failed
            }
        }
    }

    // MARK: HTTP

    private mutating func finish(_ scan: HandshakeHead, end: Int, _ reached: () -> ProxyTarget?) -> Outcome {
        let head = Array(bytes[scan.start..<end])
        let rest = Array(bytes[end...])
        bytes = []
        let (line, span) = (scan.line, head.span)
        let isHead = span.extracting(line.method).equals("HEAD")
        part = .request(isHead: isHead)
        guard let fields = HandshakeFields(span, from: line.length) else {
            return fail(.malformed, "a line of the request's head is malformed")
        }
        guard fields.count(of: "host", in: span) < 2 else {
            return fail(.malformed, "the request has more than one Host field (RFC 9112, section 3.2)")
        }
        let first = head[line.target.lowerBound]
        let isTunnel = span.extracting(line.method).equals("CONNECT")
        if !isTunnel {
            let target = span.text(line.target)
            if first == Byte.slash || first == UInt8(ascii: "*") { return ownPage(target, span, line, fields, reached) }
            // A client that the proxy is set in already.
            if let path = ownPath(of: target, reached) { return ownPage(path, span, line, fields, reached) }
        }
        guard isAllowed(span, fields) else {
            return fail(.passwordNeeded, "this proxy asks for a password; any user name goes with it")
        }
        if isTunnel {
            part = .tunnel
            guard let target = ProxyTarget(authority: span.extracting(line.target), defaultPort: nil) else {
                return fail(.malformed, "CONNECT needs a host and a port, such as example.com:443")
            }
            firstBytes = rest
            return .target(target)
        }
        do throws(ForwardedRequest.Problem) {
            let request = try ForwardedRequest(span, line, fields)
            var boundary = request.boundary
            let admitted = boundary.admit(rest.span)
            firstBytes = request.head + rest[..<admitted]
            self.boundary = boundary
            return .target(request.target)
        } catch {
            return fail(.malformed, error.sentence)
        }
    }

    private mutating func isAllowed(_ head: Span<UInt8>, _ fields: HandshakeFields) -> Bool {
        guard let password else { return true }
        guard let value = fields.value(of: "proxy-authorization", in: head) else { return false }
        let isRight = password.matches(authorization: head.extracting(value))
        passwordTry = isRight
        return isRight
    }

    /// The path of a URL, if it is a page of the proxy, at the address by which the client has reached it.
    private func ownPath(of url: String, _ reached: () -> ProxyTarget?) -> String? {
        let scheme = "http://"
        guard url.lowercased().hasPrefix(scheme) else { return nil }
        let rest = url.dropFirst(scheme.count)
        guard let slash = rest.firstIndex(of: "/") else { return nil }
        let (authority, path) = (Array(rest[..<slash].utf8), String(rest[slash...]))
        let isPage = path == ProxyHandshake.authorityPath || ProxyAutoConfiguration.isPath(path)
        guard isPage, let own = reached(), let named = ProxyTarget(authority: authority.span, defaultPort: 80) else {
            return nil
        }
        let isLocal = named.host == "localhost" && ["127.0.0.1", "::1"].contains(own.host)
        return named.port == own.port && (named.host == own.host || isLocal) ? path : nil
    }

    /// The response to a request for the proxy itself.
    private mutating func ownPage(
        _ path: String,
        _ head: Span<UInt8>,
        _ line: StartLine,
        _ fields: HandshakeFields,
        _ reached: () -> ProxyTarget?
    ) -> Outcome {
        let method = head.extracting(line.method)
        guard method.equals("GET") || method.equals("HEAD") else {
            return fail(
                .methodNotAllowed,
                "the proxy itself only answers GET; a client that uses it sends the whole URL"
            )
        }
        if path == ProxyHandshake.authorityPath, let authority {
            // By this type, iOS offers to install it.
            let fields = "Content-Type: application/x-x509-ca-cert\r\n"
            reply += AnswerText.last(200, fields, authority, toHead: method.equals("HEAD"))
            part = .failed
            return .failed
        }
        guard ProxyAutoConfiguration.isPath(path) else {
            let pages = authority == nil ? "its only page is /proxy.pac" : "its pages are /proxy.pac and /authority.pem"
            return fail(
                .noSuchPage,
                path == ProxyHandshake.authorityPath
                    ? "this proxy speaks no TLS with its clients, and has no authority"
                    : "this is a proxy, and \(pages): set it as the HTTP or SOCKS5 proxy of a client"
            )
        }
        let host = fields.value(of: "host", in: head)
        let named = host.flatMap { ProxyTarget(authority: head.extracting($0), defaultPort: 80) }
        // HTTP/1.0 has no Host.
        let isNameless = host == nil && head.extracting(line.minorVersion(in: head)).equals("0")
        guard let proxy = isNameless ? reached() : named else {
            return fail(.malformed, "the request has no valid Host, which says how the proxy is reached")
        }
        reply += ProxyAutoConfiguration.response(proxy: proxy, toHead: method.equals("HEAD"))
        part = .failed
        return .failed
    }
}
