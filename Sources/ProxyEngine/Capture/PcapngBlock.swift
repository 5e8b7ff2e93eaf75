import OperatingSystem
import Units

/// The blocks of a pcapng file that a capture has (draft-ietf-opsawg-pcapng). Packets are of IP, without a link layer.
enum PcapngBlock {
    private enum Kind {
        static let section: UInt32 = 0x0A0D_0D0A
        static let interface: UInt32 = 1
        static let names: UInt32 = 4
        static let packet: UInt32 = 6
        static let secrets: UInt32 = 10
        /// One for local use, which readers skip.
        static let filler: UInt32 = 0x8000_0000
    }

    /// The bytes of a block around what it holds, and of an option around its value, with their padding.
    static let frameSize = 16
    static let optionSize = 8

    /// What a block of `size` bytes without meaning begins and ends with.
    static func filler(_ size: UInt32) -> (head: UInt64, tail: UInt32) {
        (UInt64(Kind.filler) | UInt64(size) << 32, size)
    }

    private static func append(_ kind: UInt32, to buffer: inout BlockBuffer, _ body: (inout BlockBuffer) -> Void) {
        let start = buffer.count
        buffer.append(kind)
        buffer.append(UInt32(0))
        body(&buffer)
        buffer.pad()
        let size = UInt32(buffer.count - start + 4)
        buffer.append(size)
        buffer.replace(at: start + 4, by: size)
    }

    private static func append(option code: UInt16, _ value: [UInt8], to buffer: inout BlockBuffer) {
        let value = value.prefix(Int(UInt16.max))
        buffer.append(code)
        buffer.append(UInt16(value.count))
        buffer.append(Array(value))
        buffer.pad()
    }

    private static func append(option code: UInt16, _ text: String, to buffer: inout BlockBuffer) {
        append(option: code, Array(text.utf8), to: &buffer)
    }

    private static func endOptions(of buffer: inout BlockBuffer) { buffer.append(UInt32(0)) }

    /// The head of a section, and its interfaces in their order.
    static func section(
        of program: String,
        interfaces: [(name: String, description: String)],
        to buffer: inout BlockBuffer
    ) {
        append(Kind.section, to: &buffer) { buffer in
            buffer.append(UInt32(0x1A2B_3C4D))
            buffer.append(UInt16(1))
            buffer.append(UInt16(0))
            // The section's length isn't known.
            buffer.append(Int64(-1))
            append(option: 4, program, to: &buffer)
            endOptions(of: &buffer)
        }
        for interface in interfaces {
            append(Kind.interface, to: &buffer) { buffer in
                // LINKTYPE_RAW: IPv4 or IPv6.
                buffer.append(UInt16(101))
                buffer.append(UInt16(0))
                buffer.append(UInt32(0))
                append(option: 2, interface.name, to: &buffer)
                append(option: 3, interface.description, to: &buffer)
                // Times are in nanoseconds.
                append(option: 9, [9], to: &buffer)
                endOptions(of: &buffer)
            }
        }
    }

    /// Names of addresses.
    static func names(_ names: [(address: [UInt8], name: String)], to buffer: inout BlockBuffer) {
        append(Kind.names, to: &buffer) { buffer in
            for (address, name) in names {
                buffer.append(UInt16(address.count == 4 ? 1 : 2))
                buffer.append(UInt16(address.count + name.utf8.count + 1))
                buffer.append(address)
                buffer.append(Array(name.utf8) + [0])
                buffer.pad()
            }
            buffer.append(UInt32(0))
        }
    }

    /// Secrets of TLS, as lines of a key log.
    static func secrets(_ lines: [UInt8], to buffer: inout BlockBuffer) {
        append(Kind.secrets, to: &buffer) { buffer in
            // TLSK
            buffer.append(UInt32(0x544C_534B))
            buffer.append(UInt32(lines.count))
            buffer.append(lines)
        }
    }

    /// A packet at a time in nanoseconds since 1970, of `length` bytes, of which `body` appends the first `captured`.
    static func packet(
        of interface: UInt32,
        at time: UInt64,
        captured: Int,
        length: Int,
        isInbound: Bool,
        comments: [String],
        to buffer: inout BlockBuffer,
        _ body: (inout BlockBuffer) -> Void
    ) {
        append(Kind.packet, to: &buffer) { buffer in
            buffer.append(interface)
            buffer.append(UInt32(truncatingIfNeeded: time >> 32))
            buffer.append(UInt32(truncatingIfNeeded: time))
            buffer.append(UInt32(captured))
            buffer.append(UInt32(length))
            body(&buffer)
            buffer.pad()
            for comment in comments { append(option: 1, comment, to: &buffer) }
            // The flags: inbound or outbound.
            buffer.append(UInt16(2))
            buffer.append(UInt16(4))
            buffer.append(UInt32(isInbound ? 1 : 2))
            endOptions(of: &buffer)
        }
    }
}
