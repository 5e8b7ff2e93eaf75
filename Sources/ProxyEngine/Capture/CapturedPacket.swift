import OperatingSystem

/// The headers of a captured packet: IPv4 (RFC 791) or IPv6 (RFC 8200), and TCP (RFC 9293). The checksum of TCP is left out.
struct CapturedPacket {
    struct Flags: OptionSet {
        let rawValue: UInt8
        static let fin = Flags(rawValue: 1)
        static let syn = Flags(rawValue: 2)
        static let rst = Flags(rawValue: 4)
        static let psh = Flags(rawValue: 8)
        static let ack = Flags(rawValue: 16)
    }

    /// An address and a port.
    struct End {
        /// 4 or 16 bytes.
        var address: [UInt8]
        var port: UInt16
    }

    /// The most bytes of content, for a length that IP can tell.
    static let contentLimit = 60 << 10
    /// MSS, no operation, and a window scale of 14, so that the window of 1 GiB is never full.
    private static let options: UInt64 = 0x0204_FFD7_0103_030E

    var interface: UInt32
    var source: End
    var destination: End
    var isInbound: Bool
    var flags: Flags
    var sequence: UInt32
    var acknowledgement: UInt32

    private var isIPv6: Bool { source.address.count == 16 }
    private var segmentHeadSize: Int { flags.contains(.syn) ? 28 : 20 }
    /// The bytes of both headers.
    var headSize: Int { (isIPv6 ? 40 : 20) + segmentHeadSize }

    /// Appends the headers of a packet with `contentSize` bytes of content.
    func appendHead(of contentSize: Int, to buffer: inout BlockBuffer) {
        let size = segmentHeadSize + contentSize
        if isIPv6 {
            buffer.append(bigEndian: UInt32(0x6000_0000))
            buffer.append(bigEndian: UInt16(size))
            // TCP, and the hop limit.
            buffer.append(bigEndian: UInt16(0x0640))
            buffer.append(source.address)
            buffer.append(destination.address)
        } else {
            let start = buffer.count
            buffer.append(bigEndian: UInt16(0x4500))
            buffer.append(bigEndian: UInt16(20 + size))
            // Identification; don't fragment; the hop limit; TCP; the checksum.
            buffer.append(bigEndian: UInt64(0x0000_4000_4006_0000))
            buffer.append(source.address)
            buffer.append(destination.address)
            buffer.replace(at: start + 10, by: buffer.checksum(of: start..<start + 20).byteSwapped)
        }
        buffer.append(bigEndian: source.port)
        buffer.append(bigEndian: destination.port)
        buffer.append(bigEndian: sequence)
        buffer.append(bigEndian: acknowledgement)
        buffer.append(UInt8(segmentHeadSize / 4) << 4)
        buffer.append(flags.rawValue)
        buffer.append(bigEndian: UInt16(0xFFFF))
        // Checksum and urgent pointer.
        buffer.append(UInt32(0))
        if flags.contains(.syn) { buffer.append(bigEndian: CapturedPacket.options) }
    }
}
