import FaultPlan

/// A request in absolute form (RFC 9112, section 3.2.2) as it is sent to its server: in origin form, for this one exchange.
///
/// Fields for the proxy are left out, and `Connection: close` has the server end the connection after its response, so that
/// the client connects anew for its next request, which may be for another server.
struct ForwardedRequest {
    let target: ProxyTarget
    /// The head in origin form.
    let head: [UInt8]
    /// The end of the content.
    let boundary: RequestBoundary

    /// Rewrites the complete head `head` with the first line `line`.
    ///
    /// - Throws: the sentence that tells the client why it can't be forwarded.
    init(_ head: Span<UInt8>, _ line: StartLine, _ fields: HandshakeFields) throws(Problem) {
        let url = line.target
        guard let path = ForwardedRequest.path(of: head, in: url), path.authority.lowerBound > url.lowerBound else {
            throw Problem("only http:// URLs are forwarded; for https the client sends CONNECT")
        }
        guard let target = ProxyTarget(authority: head.extracting(path.authority), defaultPort: 80) else {
            throw Problem("the URL has no valid host and port")
        }
        let method = head.text(line.method)
        var text: [UInt8] = Array("\(method) ".utf8)
        let rest = path.rest
        if rest.isEmpty {
            text += method == "OPTIONS" ? "*".utf8 : "/".utf8
        } else {
            if head[rest.lowerBound] != Byte.slash { text.append(Byte.slash) }
            for index in rest { text.append(head[index]) }
        }
        let version = head.text(line.minorVersion(in: head))
        text += " HTTP/1.\(version)\r\n".utf8
        text += "Host: \(target.port == 80 ? target.hostText : target.description)\r\n".utf8
        let options = fields.connectionOptions(in: head)
        text += fields.text(in: head) { name in
            ["host", "keep-alive"].contains(name) || name.hasPrefix("proxy-") || options.contains(name)
        }
        text += "Connection: close\r\n\r\n".utf8
        self.target = target
        self.head = text
        boundary = try ForwardedRequest.boundary(of: text, isVersion0: version == "0")
    }

    /// Why a request can't be forwarded.
    struct Problem: Error {
        let sentence: String

        init(_ sentence: String) { self.sentence = sentence }
    }

    /// The authority of an http URL, and what follows it; `nil` for other schemes.
    private static func path(of head: Span<UInt8>, in url: Range<Int>) -> (
        authority: Range<Int>, rest: Range<Int>
    )? {
        let scheme = "http://"
        guard url.count > scheme.utf8.count else { return nil }
        let start = url.lowerBound + scheme.utf8.count
        guard head.extracting(url.lowerBound..<start).equalsIgnoringCase(scheme) else { return nil }
        var end = start
        while end < url.upperBound, head[end] != Byte.slash, head[end] != UInt8(ascii: "?") { end += 1 }
        return (start..<end, end..<url.upperBound)
    }

    private static func boundary(of head: [UInt8], isVersion0: Bool) throws(Problem) -> RequestBoundary {
        let start = (head.firstIndex(of: Byte.lineFeed) ?? 0) + 1
        let framing: Framing
        do throws(UnreadReason) {
            framing = try Framing(request: HeadFields(head.span, from: start, isRequest: true, keeping: []))
        } catch {
            throw Problem("the end of the request's content is ambiguous (RFC 9112, section 6.3)")
        }
        // Servers differ in where such a request ends.
        if isVersion0, framing == .chunked { throw Problem("HTTP/1.0 has no transfer codings (RFC 9112, section 6.1)") }
        return RequestBoundary(framing)
    }
}

extension StartLine {
    /// The digit after “HTTP/1.” in the complete first line of a request.
    func minorVersion(in head: Span<UInt8>) -> Range<Int> {
        var index = target.upperBound
        while head[index] == Byte.space { index += 1 }
        index += "HTTP/1.".utf8.count
        return index..<index + 1
    }
}
