import Glibc

/// A line for each packet of a port: what arrived at the link when, and what became of it. At most a million lines.
///
/// `MICROSECONDS up|down CLIENT-PORT FLAGS SEQUENCE+PAYLOAD ack ACKNOWLEDGED [sack FROM-TO,…] lost|queue-full|due MICROSECONDS`,
/// with sequence numbers from the start of each direction.
final class PacketLog {
    enum Fate {
        case lost, overflowed
        /// When it is delivered.
        case due(UInt64)
    }

    static let lineLimit = 1_000_000

    private let file: UnsafeMutablePointer<FILE>
    private let port: UInt16
    private let began = monotonic()
    private var lines = 0

    init(path: String, port: UInt16) {
        guard let file = fopen(path, "w") else { fail("\(path): \(String(cString: strerror(errno)))") }
        self.file = file
        self.port = port
    }

    private func microseconds(_ time: UInt64) -> UInt64 { (time - began) / 1000 }

    func add(_ packet: Packet, direction: Int, at now: UInt64, port: UInt16, first: [UInt32], fate: Fate) {
        guard port == self.port, lines < PacketLog.lineLimit else { return }
        lines += 1
        let peer = first[1 - direction]
        let selective = packet.selective.map { "\($0.0 &- peer)-\($0.1 &- peer)" }
        let end =
            switch fate {
            case .lost: "lost"
            case .overflowed: "queue-full"
            case .due(let time): "due \(microseconds(time))"
            }
        fputs(
            "\(microseconds(now)) \(direction == 0 ? "up" : "down")"
                + " \(direction == 0 ? packet.sourcePort : packet.destinationPort) \(packet.flagNames)"
                + " \(packet.sequence &- first[direction])+\(packet.payload) ack \(packet.acknowledged &- peer)"
                + (selective.isEmpty ? "" : " sack " + selective.joined(separator: ",")) + " \(end)\n",
            file
        )
    }

    func end() { fclose(file) }
}
