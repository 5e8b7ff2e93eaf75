/// Finds the host of the first request of HTTP/1, line by line (RFC 9112, section 3.2).
///
/// The host is known once its line is complete; the rest of the head isn't waited for.
struct RequestHost {
    private static let colonSlashSlash = 3

    private var line = StartLine.request
    /// The start of the request, after empty lines (RFC 9112, section 2.2).
    private var start = 0
    /// The start of the first field line that isn't complete; 0 in the first line of the request.
    private var lineStart = 0
    private var scanned = 0

    /// Reads further in the bytes of the connection, given from the first.
    mutating func read(_ bytes: Span<UInt8>) -> NameReader.Outcome {
        if lineStart == 0 {
            while line.length == 0, start < bytes.count, Byte.isLineEnd(bytes[start]) { start += 1 }
            guard line.read(bytes.extracting(start...)) else { return .none }
            guard case .whole = line.progress else { return .incomplete }
            let target = bytes.extracting(start + line.target.lowerBound..<start + line.target.upperBound)
            let method = bytes.extracting(start + line.method.lowerBound..<start + line.method.upperBound)
            if method.equals("CONNECT") { return RequestHost.host(target) }
            if target[0] != Byte.slash, target[0] != UInt8(ascii: "*") { return RequestHost.host(ofURL: target) }
            lineStart = start + line.length
            scanned = lineStart
        }
        while scanned < bytes.count {
            scanned += 1
            guard bytes[scanned - 1] == Byte.lineFeed else { continue }
            let field = lineStart..<scanned - 1
            lineStart = scanned
            let outcome = RequestHost.host(ofField: field, in: bytes)
            if outcome != .incomplete { return outcome }
        }
        return .incomplete
    }

    /// The host in a field line, without its line feed; `incomplete` if it is another field.
    private static func host(ofField line: Range<Int>, in bytes: Span<UInt8>) -> NameReader.Outcome {
        let first = line.isEmpty ? Byte.carriageReturn : bytes[line.lowerBound]
        // The end of the head, or a line that belongs to the field before it (RFC 9112, section 5.2).
        if first == Byte.carriageReturn { return .none }
        if Byte.isSpace(first) { return .incomplete }
        guard let colon = bytes.firstIndex(of: Byte.colon, in: line) else { return .none }
        guard bytes.extracting(line.lowerBound..<colon).equalsIgnoringCase("host") else { return .incomplete }
        return host(bytes.extracting(bytes.trimmed(colon + 1..<line.upperBound)))
    }

    /// The host of a target in absolute form, in which a scheme and “://” come first.
    private static func host(ofURL url: Span<UInt8>) -> NameReader.Outcome {
        guard let colon = url.firstIndex(of: Byte.colon, in: 0..<url.count) else { return .none }
        let begin = colon + colonSlashSlash
        guard begin <= url.count else { return .none }
        let end = (begin..<url.count).first { "/?#".utf8.contains(url[$0]) } ?? url.count
        return host(url.extracting(begin..<end))
    }

    /// The host of `host` or `host:port`.
    private static func host(_ authority: Span<UInt8>) -> NameReader.Outcome {
        ProxyTarget(authority: authority, defaultPort: 80).map { .name($0.host) } ?? .none
    }
}
