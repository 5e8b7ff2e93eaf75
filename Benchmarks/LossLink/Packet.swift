/// The bytes of an IPv4 packet with TCP in it.
struct Packet {
    let bytes: UnsafeMutablePointer<UInt8>
    let length: Int
    private let header: Int

    /// `nil` unless the bytes are IPv4 with a whole TCP header.
    init?(_ bytes: UnsafeMutablePointer<UInt8>, length: Int) {
        guard length >= 40, bytes[0] >> 4 == 4, bytes[9] == 6 else { return nil }
        header = Int(bytes[0] & 15) * 4
        guard header >= 20, length >= header + 20 else { return nil }
        self.bytes = bytes
        self.length = length
        guard payload >= 0 else { return nil }
    }

    private func short(_ offset: Int) -> UInt16 { UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1]) }
    private func word(_ offset: Int) -> UInt32 { UInt32(short(offset)) << 16 | UInt32(short(offset + 2)) }

    var sourcePort: UInt16 { short(header) }
    var destinationPort: UInt16 { short(header + 2) }
    var sequence: UInt32 { word(header + 4) }
    var acknowledged: UInt32 { word(header + 8) }
    private var tcpHeader: Int { Int(bytes[header + 12] >> 4) * 4 }
    private var flags: UInt8 { bytes[header + 13] }
    var payload: Int { length - header - tcpHeader }
    var hasSYN: Bool { flags & 2 != 0 }
    var hasACK: Bool { flags & 16 != 0 }

    /// The flags by their first letters, as in `SA`.
    var flagNames: String {
        zip([1, 2, 4, 8, 16], ["F", "S", "R", "P", "A"]).reduce("") { flags & $1.0 != 0 ? $0 + $1.1 : $0 }
    }

    /// The blocks of a selective acknowledgement (RFC 2018).
    var selective: [(UInt32, UInt32)] {
        var offset = header + 20
        let end = header + tcpHeader
        while offset < end {
            switch bytes[offset] {
            case 0: return []
            case 1: offset += 1
            case let kind:
                guard offset + 1 < end, bytes[offset + 1] >= 2 else { return [] }
                let size = Int(bytes[offset + 1])
                if kind == 5, offset + size <= end {
                    return stride(from: offset + 2, to: offset + size - 7, by: 8).map { (word($0), word($0 + 4)) }
                }
                offset += size
            }
        }
        return []
    }
}
