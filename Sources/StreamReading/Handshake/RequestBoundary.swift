/// Finds the end of the content of one request, after which nothing more is forwarded to its server.
///
/// Belongs to a request in absolute form: the next request of the same client may be for another server.
public struct RequestBoundary: Sendable {
    private enum State {
        /// In the content, with this many bytes left.
        case content(left: Int64)
        case chunks(ChunkScanner)
        case over
    }

    private var state: State
    /// Whether the content can't be read, so that its end is unknown.
    private(set) var isUnreadable = false
    /// Whether bytes have come that don't belong to the request. Empty lines after it don't count (RFC 9112, section 2.2).
    public private(set) var isExceeded = false

    /// The boundary of a request with this framing.
    init(_ framing: Framing) {
        switch framing {
        case .none: state = .over
        case .length(let length): state = .content(left: length)
        case .chunked: state = .chunks(ChunkScanner())
        case .untilEnd, .tunnel: preconditionFailure("the content of a request has a known end")
        }
    }

    /// The number of the next `bytes` that belong to the request, from the first. The others must be dropped.
    mutating func admit(_ bytes: Span<UInt8>) -> Int {
        var index = 0
        while index < bytes.count {
            switch state {
            case .content(let left):
                let count = Int(min(left, Int64(bytes.count - index)))
                index += count
                state = left > Int64(count) ? .content(left: left - Int64(count)) : .over
            case .chunks(var scanner):
                switch scanner.next(bytes, &index) {
                case .content, .more:
                    state = .chunks(scanner)
                case .end:
                    state = .over
                case .unreadable:
                    state = .over
                    isUnreadable = true
                }
            case .over:
                for rest in index..<bytes.count
                where bytes[rest] != Byte.carriageReturn && bytes[rest] != Byte.lineFeed {
                    isExceeded = true
                }
                return index
            }
        }
        return index
    }
}
