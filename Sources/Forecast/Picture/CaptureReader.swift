import FaultPlan
import Units

/// Reads what `squall run --pcap` wrote, for drawing: the connections of clients, and what comments say of faults.
package struct CaptureReader {
    /// The most connections: 65,536. Those that open later are left out.
    package static let connectionLimit = 65_536

    /// A connection that is open.
    private struct Connection {
        var number: UInt64
        var isAnswered = false
    }

    private var connections: [[UInt8]: Connection] = [:]
    private var opened: UInt64 = 0
    /// The events; their moments are nanoseconds since 1970.
    private var events: [PlanRecording.Event] = []
    private var first: Int64?
    /// When the proxy's clock started, if a comment tells.
    private var start: Int64?

    /// The events of a capture in the order of time, and whether their times count from the first packet, because no comment
    /// tells when the proxy's clock started; `nil` if the bytes are no capture by Squall with a packet. A block that is torn
    /// off ends it.
    package static func events(of file: Span<UInt8>) -> (events: [PlanRecording.Event], startsAtFirstPacket: Bool)? {
        var reader = CaptureReader()
        var place = 0
        while place + 32 <= file.count {
            let size = Int(number(file, at: place + 4, 4))
            guard size >= 12, size % 4 == 0, size <= file.count - place else { break }
            // An enhanced packet block of the first interface, which is that of clients.
            if number(file, at: place, 4) == 6, size >= 32, number(file, at: place + 8, 4) == 0 {
                reader.read(file.extracting(place + 12..<place + size - 4))
            }
            place += size
        }
        guard let first = reader.first else { return nil }
        let base = reader.start ?? first
        let events = reader.events.map { event in
            var event = event
            event.moment = Moment(nanoseconds: max(0, event.moment.nanoseconds.subtractingSaturated(base)))
            return event
        }
        return (events.sorted { $0.moment < $1.moment }, reader.start == nil)
    }

    private static func number(_ bytes: Span<UInt8>, at place: Int, _ size: Int) -> UInt32 {
        (0..<size).reduce(0) { $0 | UInt32(bytes[place + $1]) << UInt32($1 * 8) }
    }

    /// Reads a packet from its time on, with its options.
    private mutating func read(_ block: Span<UInt8>) {
        let captured = Int(Self.number(block, at: 8, 4))
        let time = Int64(Self.number(block, at: 0, 4)) << 32 | Int64(Self.number(block, at: 4, 4))
        guard captured <= block.count - 16, time >= 0 else { return }
        first = min(first ?? time, time)
        var isTold = false
        var place = 16 + (captured + 3) / 4 * 4
        while place + 4 <= block.count {
            let (code, length) = (Self.number(block, at: place, 2), Int(Self.number(block, at: place + 2, 2)))
            guard length <= block.count - place - 4 else { break }
            let value = block.extracting(place + 4..<place + 4 + length)
            if code == 1 {
                isTold = note(String(decoding: value.indices.map { value[$0] }, as: UTF8.self), time) || isTold
            }
            place += 4 + (length + 3) / 4 * 4
        }
        follow(block.extracting(16..<16 + captured), time, isTold)
    }

    /// Notes the fault of a comment; returns whether it ends a connection.
    private mutating func note(_ comment: String, _ time: Int64) -> Bool {
        let parts = comment.split(separator: ", ")
        // The beginning of a phase is no fault.
        guard !comment.hasPrefix("phase “"), let fault = comment.firstMatch(of: /^[a-z-]+ “(.*?)” ([a-z ]+)/),
            let last = parts.last
        else {
            return false
        }
        if start == nil, last.hasSuffix(" s"), let seconds = Double(last.dropLast(2)), (0..<1e9).contains(seconds) {
            start = time - Int64(seconds * 1e9)
        }
        func value(_ label: String) -> UInt64? {
            parts.first { $0.hasPrefix(label) }.flatMap { UInt64($0.dropFirst(label.count)) }
        }
        let what = String(fault.2)
        let offset = value("offset ").flatMap { Int64(exactly: $0) }
        append(String(fault.1), what, of: value("connection "), offset, time)
        return PlanMark.Kind(word: what) == .lost || PlanMark.Kind(word: what) == .refused
    }

    /// Follows the connection of a packet. `isTold`: a fault has been noted as its end.
    private mutating func follow(_ packet: Span<UInt8>, _ time: Int64, _ isTold: Bool) {
        guard packet.count >= 20 else { return }
        let isIPv6 = packet[0] >> 4 == 6
        let (head, addresses, width) = isIPv6 ? (40, 8, 16) : (20, 12, 4)
        guard packet.count >= head + 20 else { return }
        func end(_ address: Int, _ port: Int) -> [UInt8] {
            (address..<address + width).map { packet[$0] } + [packet[port], packet[port + 1]]
        }
        let (source, destination) = (end(addresses, head), end(addresses + width, head + 2))
        let flags = packet[head + 13]
        if flags & 0x12 == 2, opened < CaptureReader.connectionLimit {
            opened += 1
            connections[source + destination] = Connection(number: opened)
            return append("client", "opens", of: opened, nil, time)
        }
        let fromServer = connections[destination + source] != nil
        let ends = fromServer ? destination + source : source + destination
        if flags & 2 != 0 { connections[ends]?.isAnswered = true }
        guard flags & 4 != 0, let connection = connections.removeValue(forKey: ends), !isTold else { return }
        append(
            fromServer ? "server" : "client",
            connection.isAnswered ? "resets" : "refuses",
            of: connection.number,
            nil,
            time
        )
    }

    private mutating func append(
        _ fault: String,
        _ what: String,
        of connection: UInt64?,
        _ offset: Int64?,
        _ time: Int64
    ) {
        let moment = Moment(nanoseconds: time)
        events.append(.init(moment: moment, connection: connection, fault: fault, offset: offset, what: what))
    }
}
