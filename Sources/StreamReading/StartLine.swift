/// The first line of a head as far as it has come, byte by byte (RFC 9112, sections 3 and 4).
///
/// Rejects a stream at the first byte that can't be HTTP/1, so that other protocols don't wait for their answers. Accepts
/// what nginx and curl accept, except bytes above 0x7E in a target, which a proxy accepts from its clients.
struct StartLine {
    /// The longest method: 32 bytes.
    static let methodLimit = 32

    /// How likely the bytes are to become the head of a message.
    enum Progress {
        /// A token in capitals, as in other protocols.
        case token
        /// A registered method, or the version of a response.
        case line
        /// The complete first line.
        case whole
    }

    private enum Part {
        case method
        case targetStart
        /// `*`
        case asterisk
        /// `http`, up to the colon.
        case scheme
        /// `://`, with this many bytes to come.
        case slashes(left: Int)
        /// A path, or the rest of an absolute target.
        case path
        /// `host:port`, and whether the colon has come.
        case authority(hasColon: Bool)
        /// “HTTP/1.”, with this many bytes come.
        case version(matched: Int)
        case minorVersion
        case requestEnd
        /// Between the version of a response and its status.
        case statusStart
        /// The status, with this many digits come.
        case status(digits: Int)
        case statusEnd
        case reason
        /// After a carriage return.
        case lineFeed
        case whole
    }

    private let isRequest: Bool
    /// Whether a target may have bytes of 0x80 and above, as curl sends those of a URL that isn't percent-encoded.
    private let hasRawTarget: Bool
    private var part: Part
    /// The number of scanned bytes.
    private var position = 0
    /// The end of the method or the status.
    private var methodEnd = 0
    private var targetStart = 0
    private var targetEnd = 0
    private var isRegistered = false
    private var isConnect = false
    private var isOptions = false

    private init(isRequest: Bool, hasRawTarget: Bool = false) {
        (self.isRequest, self.hasRawTarget) = (isRequest, hasRawTarget)
        part = isRequest ? .method : .version(matched: 0)
    }

    static var request: StartLine { StartLine(isRequest: true) }

    /// The first line of a request to a proxy.
    static var proxyRequest: StartLine { StartLine(isRequest: true, hasRawTarget: true) }

    static var response: StartLine { StartLine(isRequest: false) }

    /// How likely a head is so far.
    var progress: Progress {
        switch part {
        case .whole: .whole
        case .method, .targetStart: .token
        case .asterisk, .scheme, .slashes, .path, .authority, .version, .minorVersion, .requestEnd, .statusStart,
            .status, .statusEnd, .reason, .lineFeed:
            isRequest && !isRegistered ? .token : .line
        }
    }

    /// The range of a request's method, once the line is complete.
    var method: Range<Int> { 0..<methodEnd }

    /// The range of a request's target, once the line is complete.
    var target: Range<Int> { targetStart..<targetEnd }

    /// The range of a response's status, once the line is complete.
    var status: Range<Int> { methodEnd - 3..<methodEnd }

    /// The length of the line including its end, once it is complete.
    var length: Int { position }

    /// Scans further in the bytes of a head, given from its start.
    ///
    /// - Returns: whether they may become a head.
    mutating func read(_ head: Span<UInt8>) -> Bool {
        while position < head.count {
            if case .whole = part { return true }
            guard receive(head[position], head) else { return false }
            position += 1
            if case .path = part {
                // Fast path for most of a first line.
                while position < head.count, Byte.isVisible(head[position]) { position += 1 }
            }
        }
        return true
    }

    private mutating func receive(_ byte: UInt8, _ head: Span<UInt8>) -> Bool {
        switch part {
        case .method, .targetStart, .asterisk, .scheme, .slashes, .path, .authority:
            return takeRequest(byte, head)
        case .version(let matched):
            if isRequest, matched == 0, byte == Byte.space { return true }
            guard byte == StartLine.version[matched] else { return false }
            part = matched + 1 < StartLine.version.count ? .version(matched: matched + 1) : .minorVersion
        case .minorVersion:
            guard Byte.isDigit(byte) else { return false }
            part = isRequest ? .requestEnd : .statusStart
        case .requestEnd:
            return byte == Byte.space || takeLineEnd(byte)
        case .statusStart:
            guard byte == Byte.space else { return false }
            part = .status(digits: 0)
        case .status(let digits):
            guard Byte.isDigit(byte) else { return false }
            part = digits < 2 ? .status(digits: digits + 1) : .statusEnd
            methodEnd = position + 1
        case .statusEnd:
            if byte != Byte.space { return takeLineEnd(byte) }
            part = .reason
        case .reason:
            return takeLineEnd(byte) || byte == Byte.tab || byte >= 0x20 && byte != 0x7F
        case .lineFeed:
            guard byte == Byte.lineFeed else { return false }
            part = .whole
        case .whole:
            break
        }
        return true
    }

    private mutating func takeRequest(_ byte: UInt8, _ head: Span<UInt8>) -> Bool {
        switch part {
        case .method:
            if byte == Byte.space {
                guard position > 0 else { return false }
                endMethod(head.extracting(..<position))
            } else {
                return position < StartLine.methodLimit && StartLine.isMethod(byte)
            }
        case .targetStart:
            return byte == Byte.space || beginTarget(byte)
        case .asterisk:
            guard byte == Byte.space else { return false }
            endTarget()
        case .scheme:
            if byte == Byte.colon { part = .slashes(left: 2) } else { return StartLine.isScheme(byte) }
        case .slashes(let left):
            guard byte == Byte.slash else { return false }
            part = left == 1 ? .path : .slashes(left: left - 1)
        case .path:
            if byte == Byte.space { endTarget() } else { return Byte.isVisible(byte) || hasRawTarget && byte >= 0x80 }
        case .authority(let hasColon):
            if byte == Byte.space {
                guard hasColon else { return false }
                endTarget()
            } else {
                part = .authority(hasColon: hasColon || byte == Byte.colon)
                return StartLine.isAuthority(byte)
            }
        case .version, .minorVersion, .requestEnd, .statusStart, .status, .statusEnd, .reason, .lineFeed, .whole:
            preconditionFailure("these parts follow the target of a request")
        }
        return true
    }

    /// The form of a target, by its first byte (RFC 9112, section 3.2).
    private mutating func beginTarget(_ byte: UInt8) -> Bool {
        targetStart = position
        if isConnect {
            part = .authority(hasColon: false)
            // A colon begins an IPv6 address without brackets, which some clients write.
            return StartLine.isAuthority(byte)
        }
        switch byte {
        case Byte.slash: part = .path
        case UInt8(ascii: "*") where isOptions: part = .asterisk
        case 0x41...0x5A, 0x61...0x7A: part = .scheme
        default: return false
        }
        return true
    }

    private mutating func endMethod(_ method: Span<UInt8>) {
        methodEnd = position
        isConnect = method.equals("CONNECT")
        isOptions = method.equals("OPTIONS")
        isRegistered = StartLine.registeredMethods.contains { method.equals($0) }
        part = .targetStart
    }

    private mutating func endTarget() {
        targetEnd = position
        part = .version(matched: 0)
    }

    private mutating func takeLineEnd(_ byte: UInt8) -> Bool {
        switch byte {
        case Byte.carriageReturn: part = .lineFeed
        case Byte.lineFeed: part = .whole
        default: return false
        }
        return true
    }

    /// Whether the byte may be part of a method: in practice capital letters, “-” and “_” (RFC 9110, section 9.1).
    private static func isMethod(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    private static func isScheme(_ byte: UInt8) -> Bool {
        Byte.isLetterOrDigit(byte) || [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
    }

    private static func isAuthority(_ byte: UInt8) -> Bool {
        Byte.isLetterOrDigit(byte) || "-._~%:[]".utf8.contains(byte)
    }

    private static let version = Array("HTTP/1.".utf8)

    /// The IANA registry of methods, without PRI, which no request has.
    private static let registeredMethods: [String] = [
        "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "CONNECT", "COPY", "DELETE", "GET", "HEAD", "LABEL",
        "LINK", "LOCK", "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "OPTIONS",
        "ORDERPATCH", "PATCH", "POST", "PROPFIND", "PROPPATCH", "PUT", "QUERY", "REBIND", "REPORT", "SEARCH", "TRACE",
        "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
    ]
}
