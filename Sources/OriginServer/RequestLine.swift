import HTTPSemantics

/// A parser of the request line (RFC 9112, section 3), which runs before the HTTP decoder.
///
/// The decoder reports the same error for an overlong target, an unknown method and an unknown version. This server
/// answers 414, 501 and 505, and serves later minor versions of HTTP/1 as HTTP/1.1.
struct RequestLine {
    /// The result of parsing a byte.
    enum Verdict: Hashable {
        /// The line is incomplete.
        case incomplete
        /// The line is complete: its method, and the line for the decoder including the line end.
        case complete(method: String, decoded: [UInt8])
        case rejected(ConnectionStateMachine.Rejection)
    }

    /// The maximum length of a method in bytes: longer than any registered one.
    static let maximumMethodLength = 64

    /// The registered HTTP methods (IANA); others are unknown to this server.
    static let registeredMethods: Set<String> = [
        "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "CONNECT", "COPY", "DELETE", "GET", "HEAD", "LABEL",
        "LINK", "LOCK", "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "OPTIONS",
        "ORDERPATCH", "PATCH", "POST", "PRI", "PROPFIND", "PROPPATCH", "PUT", "QUERY", "REBIND", "REPORT", "SEARCH",
        "TRACE", "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
    ]
    /// The methods passed to the decoder unchanged. Framing is the same for all methods but CONNECT (RFC 9112, section
    /// 6), so others are decoded as POST.
    private static let decodedMethods: Set<String> = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
    ]
    private static let versionPrefix = Array("HTTP/".utf8)

    private var method: [UInt8] = []
    private var target: [UInt8] = []
    private var version: [UInt8] = []
    private var part = Part.method
    private var endsWithReturn = false

    private enum Part {
        case method, target, version
    }

    /// Consumes the next byte.
    mutating func receive(_ byte: UInt8) -> Verdict {
        if byte == UInt8(ascii: "\n") {
            if method.isEmpty {
                // Empty lines before a request are ignored (section 2.2).
                endsWithReturn = false
                return .incomplete
            }
            // A bare LF isn't accepted as a line end (section 2.2).
            return endsWithReturn ? complete() : .rejected(.malformed)
        }
        if endsWithReturn { return .rejected(.malformed) }
        if byte == UInt8(ascii: "\r") {
            endsWithReturn = true
            return .incomplete
        }
        switch part {
        case .method: return receiveMethod(byte)
        case .target: return receiveTarget(byte)
        case .version:
            version.append(byte)
            return version.count > Self.versionPrefix.count + 3 ? .rejected(.malformed) : .incomplete
        }
    }

    private mutating func receiveMethod(_ byte: UInt8) -> Verdict {
        if byte == UInt8(ascii: " "), !method.isEmpty {
            part = .target
            return .incomplete
        }
        guard byte.isOfToken else { return .rejected(.malformed) }
        method.append(byte)
        return method.count > Self.maximumMethodLength ? .rejected(.methodUnknown) : .incomplete
    }

    private mutating func receiveTarget(_ byte: UInt8) -> Verdict {
        if byte == UInt8(ascii: " ") {
            // Several spaces count as one (section 3).
            if !target.isEmpty { part = .version }
            return .incomplete
        }
        guard byte > 0x20, byte != 0x7F else { return .rejected(.malformed) }
        target.append(byte)
        return target.count > RequestTarget.maximumLength ? .rejected(.targetTooLong) : .incomplete
    }

    /// The verdict on the line without its end.
    private func complete() -> Verdict {
        guard version.count == Self.versionPrefix.count + 3, version.starts(with: Self.versionPrefix),
            version[5].isDigit, version[6] == UInt8(ascii: "."), version[7].isDigit
        else { return .rejected(.malformed) }
        guard version[5] == UInt8(ascii: "1") else { return .rejected(.versionNotSupported) }
        let method = String(decoding: self.method, as: UTF8.self)
        let decoded = Self.decodedMethods.contains(method) ? method : "POST"
        // A later minor version is handled as the latest known one (RFC 9110, section 2.5).
        let line =
            Array("\(decoded) ".utf8) + target + Array(" HTTP/1.\(version[7] == UInt8(ascii: "0") ? 0 : 1)\r\n".utf8)
        return .complete(method: method, decoded: line)
    }
}
