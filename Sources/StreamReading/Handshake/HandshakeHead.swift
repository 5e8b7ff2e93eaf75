/// Finds the end of the head of a proxy request, or of the response to it, byte by byte.
struct HandshakeHead {
    /// The progress of the head.
    enum Progress {
        case incomplete
        /// The bytes can't become a head of HTTP/1.
        case invalid
        /// The head ends before this index, its last empty line included.
        case complete(end: Int)
    }

    /// The first line, from `start` on.
    private(set) var line: StartLine
    /// The start of the head, after empty lines (RFC 9112, section 2.2).
    private(set) var start = 0
    private var scanned = 0
    private var lineStart = 0

    init(_ line: StartLine) {
        self.line = line
    }

    /// Scans further in the bytes of the handshake, given from the first.
    mutating func read(_ bytes: Span<UInt8>) -> Progress {
        if line.length == 0 {
            while start < bytes.count, Byte.isLineEnd(bytes[start]) { start += 1 }
        }
        guard line.read(bytes.extracting(start...)) else { return .invalid }
        guard case .whole = line.progress else { return .incomplete }
        if scanned == 0 {
            lineStart = start + line.length
            scanned = lineStart
        }
        while scanned < bytes.count {
            let byte = bytes[scanned]
            scanned += 1
            guard byte == Byte.lineFeed else { continue }
            let length = scanned - 1 - lineStart
            if length == 0 || length == 1 && bytes[lineStart] == Byte.carriageReturn {
                return .complete(end: scanned)
            }
            lineStart = scanned
        }
        return .incomplete
    }
}
