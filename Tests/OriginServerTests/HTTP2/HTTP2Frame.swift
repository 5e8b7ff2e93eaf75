import NIOCore

/// An HTTP/2 frame (RFC 9113, section 4.1), unvalidated.
struct HTTP2Frame: Sendable {
    /// The types that the tests use (section 6).
    enum Kind: UInt8, Sendable {
        case data = 0
        case headers = 1
        case priority = 2
        case resetStream = 3
        case settings = 4
        case pushPromise = 5
        case ping = 6
        case goAway = 7
        case windowUpdate = 8
        case continuation = 9
    }

    static let endStream: UInt8 = 0x1
    static let acknowledges: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4

    var kind: Kind
    var flags: UInt8 = 0
    var stream: Int = 0
    var payload = ByteBuffer()

    /// The frame with its 9-byte header.
    var bytes: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeInteger(UInt8(payload.readableBytes >> 16))
        buffer.writeInteger(UInt16(truncatingIfNeeded: payload.readableBytes))
        buffer.writeInteger(kind.rawValue)
        buffer.writeInteger(flags)
        buffer.writeInteger(UInt32(stream))
        buffer.writeImmutableBuffer(payload)
        return buffer
    }

    /// Removes the first frame from `buffer`; `nil` until it is complete. Frames of other types are dropped.
    init?(from buffer: inout ByteBuffer) {
        let start = buffer.readerIndex
        guard let high: UInt8 = buffer.getInteger(at: start), let low: UInt16 = buffer.getInteger(at: start + 1),
            let type: UInt8 = buffer.getInteger(at: start + 3), let flags: UInt8 = buffer.getInteger(at: start + 4),
            let stream: UInt32 = buffer.getInteger(at: start + 5), let kind = Kind(rawValue: type),
            let payload = buffer.getSlice(at: start + 9, length: Int(high) << 16 | Int(low))
        else { return nil }
        buffer.moveReaderIndex(forwardBy: 9 + payload.readableBytes)
        self.init(kind: kind, flags: flags, stream: Int(stream & 0x7FFF_FFFF), payload: payload)
    }

    init(kind: Kind, flags: UInt8 = 0, stream: Int = 0, payload: ByteBuffer = ByteBuffer()) {
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }
}
