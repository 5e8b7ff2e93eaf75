/// Scans chunked framing (RFC 9112, section 7.1): framing byte by byte, content in one step.
struct ChunkScanner {
    /// The most framing bytes between two pieces of content, including trailers: 64 KiB.
    static let framingLimit = 64 << 10

    /// The next part of the bytes.
    enum Piece: Equatable {
        /// This many bytes of content.
        case content(Int)
        /// The end of the content and the message.
        case end
        /// More bytes are needed.
        case more
        /// Invalid framing.
        case unreadable
    }

    private enum State {
        /// In the size of a chunk, and whether a digit has come.
        case size(hasDigits: Bool)
        /// In the chunk extension, up to the end of the line.
        case sizeExtension
        case content
        /// At the line end after a chunk.
        case contentEnd
        /// In a trailer line with this many bytes.
        case trailer(length: Int)
    }

    private var state = State.size(hasDigits: false)
    private var left: Int64 = 0
    private var framing = 0

    /// Reads on in `bytes` from `index`, which is moved past the bytes read.
    mutating func next(_ bytes: Span<UInt8>, _ index: inout Int) -> Piece {
        while index < bytes.count {
            if case .content = state, left > 0 {
                let count = Int(min(left, Int64(bytes.count - index)))
                index += count
                left -= Int64(count)
                framing = 0
                if left == 0 { state = .contentEnd }
                return .content(count)
            }
            let byte = bytes[index]
            index += 1
            framing += 1
            guard framing <= ChunkScanner.framingLimit, let isEnd = step(byte) else { return .unreadable }
            if isEnd { return .end }
        }
        return .more
    }

    /// Reads one byte of framing; returns whether it is the message's last, `nil` if it is invalid.
    private mutating func step(_ byte: UInt8) -> Bool? {
        let isLineEnd = byte == 0x0A
        switch state {
        case .size(let hasDigits):
            if let value = ChunkScanner.digit(byte) {
                // Another digit must fit into 63 bits.
                guard left >> 59 == 0 else { return nil }
                left = left << 4 | value
                state = .size(hasDigits: true)
            } else {
                guard hasDigits, isLineEnd || [0x0D, 0x3B, 0x20, 0x09].contains(byte) else { return nil }
                if isLineEnd { endSizeLine() } else { state = .sizeExtension }
            }
        case .sizeExtension:
            if isLineEnd { endSizeLine() }
        case .content, .contentEnd:
            guard isLineEnd || byte == 0x0D else { return nil }
            if isLineEnd { state = .size(hasDigits: false) }
        case .trailer(let length):
            if isLineEnd {
                if length == 0 { return true }
                state = .trailer(length: 0)
            } else if byte != 0x0D {
                state = .trailer(length: length + 1)
            }
        }
        return false
    }

    private mutating func endSizeLine() {
        state = left == 0 ? .trailer(length: 0) : .content
    }

    private static func digit(_ byte: UInt8) -> Int64? {
        switch byte {
        case 0x30...0x39: Int64(byte - 0x30)
        case 0x41...0x46: Int64(byte - 0x41 + 10)
        case 0x61...0x66: Int64(byte - 0x61 + 10)
        default: nil
        }
    }
}
