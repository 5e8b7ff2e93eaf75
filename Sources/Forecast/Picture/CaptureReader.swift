import FaultPlan
import Units

/// Reads what `squall run --pcap` wrote, for drawing: the connections of clients, and what comments on either side say of
/// faults.
package struct CaptureReader {
    /// The most connections: 65,536. Those that open later are left out.
    package static let connectionLimit = 65_536

    /// A connection that is open.
    private struct Connection {
        /// `nil` for one to a server.
        var number: UInt64?
        /// When it was opened, in nanoseconds since 1970.
        var opened: Int64
        var isAnswered = false
    }

    /// An event whose moment is that of its packet, in nanoseconds since 1970.
    private struct Event {
        var event: PlanRecording.Event
        /// The nanoseconds on the proxy's clock that its comment tells, cut off to milliseconds.
        var elapsed: Int64?
        /// When the connection of its comment's packet was opened.
        var opened: Int64?

        /// The event in nanoseconds since `base`. Its comment may have waited for the packet, so the time that it tells counts,
        /// unless the connection opened later: then another proxy's clock tells it, or one that was set meanwhile.
        func counted(from base: Int64) -> PlanRecording.Event {
            var event = event
            var time = max(0, event.moment.nanoseconds.subtractingSaturated(base))
            if let elapsed, elapsed + 1_000_000 >= (opened ?? base).subtractingSaturated(base) { time = elapsed }
            event.moment = Moment(nanoseconds: time)
            return event
        }
    }

    /// What a packet tells of its connection.
    private struct Packet {
        var time: Int64
        /// Whether it is on the interface of clients.
        var isClients: Bool
        /// The key of a connection that the packet's sender has opened, and of one that its receiver has.
        var (key, backKey): ([UInt8], [UInt8]) = ([], [])
        /// Those of TCP.
        var flags: UInt8 = 0

        init(_ bytes: Span<UInt8>, _ time: Int64, _ isClients: Bool) {
            (self.time, self.isClients) = (time, isClients)
            guard bytes.count >= 20 else { return }
            let isIPv6 = bytes[0] >> 4 == 6
            let (head, addresses, width) = isIPv6 ? (40, 8, 16) : (20, 12, 4)
            guard bytes.count >= head + 20 else { return }
            func end(_ address: Int, _ port: Int) -> [UInt8] {
                (address..<address + width).map { bytes[$0] } + [bytes[port], bytes[port + 1]]
            }
            let (source, destination) = (end(addresses, head), end(addresses + width, head + 2))
            let interface: [UInt8] = [isClients ? 0 : 1]
            (key, backKey) = (source + destination + interface, destination + source + interface)
            flags = bytes[head + 13]
        }
    }

    /// By their ends, and the interface.
    private var connections: [[UInt8]: Connection] = [:]
    private var opened: UInt64 = 0
    private var events: [Event] = []
    private var first: Int64?
    /// When the proxy's clock started, if a comment tells: the earliest, as the packet of a comment may be late.
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
            // An enhanced packet block. The first interface is that of clients.
            if number(file, at: place, 4) == 6, size >= 32 {
                let isClients = number(file, at: place + 8, 4) == 0
                reader.read(file.extracting(place + 12..<place + size - 4), isClients)
            }
            place += size
        }
        guard let first = reader.first else { return nil }
        let base = min(reader.start ?? first, first)
        let events = reader.events.map { $0.counted(from: base) }
        return (events.sorted { $0.moment < $1.moment }, reader.start == nil)
    }

    private static func number(_ bytes: Span<UInt8>, at place: Int, _ size: Int) -> UInt32 {
        (0..<size).reduce(0) { $0 | UInt32(bytes[place + $1]) << UInt32($1 * 8) }
    }

    /// Reads a packet from its time on, with its options.
    private mutating func read(_ block: Span<UInt8>, _ isClients: Bool) {
        let captured = Int(Self.number(block, at: 8, 4))
        let time = Int64(Self.number(block, at: 0, 4)) << 32 | Int64(Self.number(block, at: 4, 4))
        guard captured <= block.count - 16, time >= 0 else { return }
        if isClients { first = min(first ?? time, time) }
        let packet = Packet(block.extracting(16..<16 + captured), time, isClients)
        var isTold = false
        var place = 16 + (captured + 3) / 4 * 4
        while place + 4 <= block.count {
            let (code, length) = (Self.number(block, at: place, 2), Int(Self.number(block, at: place + 2, 2)))
            guard length <= block.count - place - 4 else { break }
            let value = block.extracting(place + 4..<place + 4 + length)
            if code == 1 {
                isTold = note(String(decoding: value.indices.map { value[$0] }, as: UTF8.self), packet) || isTold
            }
            place += 4 + (length + 3) / 4 * 4
        }
        follow(packet, isTold)
    }

    /// Notes the fault of a comment on a packet; returns whether it ends a connection.
    private mutating func note(_ comment: String, _ packet: Packet) -> Bool {
        let parts = comment.split(separator: ", ")
        // The beginning of a phase is no fault.
        guard !comment.hasPrefix("phase “"), let fault = comment.firstMatch(of: /^[a-z-]+ “(.*?)” ([a-z ]+)/),
            let last = parts.last
        else {
            return false
        }
        var elapsed: Int64?
        if last.hasSuffix(" s"), let seconds = Double(last.dropLast(2)), (0..<1e9).contains(seconds) {
            let nanoseconds = Int64(seconds * 1e9)
            (elapsed, start) = (nanoseconds, min(start ?? .max, packet.time - nanoseconds))
        }
        func value(_ label: String) -> UInt64? {
            parts.first { $0.hasPrefix(label) }.flatMap { UInt64($0.dropFirst(label.count)) }
        }
        let what = String(fault.2)
        let offset = value("offset ").flatMap { Int64(exactly: $0) }
        append(String(fault.1), what, of: value("connection "), offset, packet.time)
        let connection = connections[packet.key] ?? connections[packet.backKey]
        (events[events.count - 1].elapsed, events[events.count - 1].opened) = (elapsed, connection?.opened)
        return PlanMark.Kind(word: what) == .lost || PlanMark.Kind(word: what) == .refused
    }

    /// Follows the connection of a packet. `isTold`: a fault has been noted as its end.
    private mutating func follow(_ packet: Packet, _ isTold: Bool) {
        let flags = packet.flags
        if flags & 0x12 == 2, packet.isClients, opened < CaptureReader.connectionLimit {
            opened += 1
            connections[packet.key] = Connection(number: opened, opened: packet.time)
            return append("client", "opens", of: opened, nil, packet.time)
        }
        if flags & 0x12 == 2, !packet.isClients, connections.count < 2 * CaptureReader.connectionLimit {
            connections[packet.key] = Connection(number: nil, opened: packet.time)
        }
        let fromServer = connections[packet.backKey] != nil
        let key = fromServer ? packet.backKey : packet.key
        if flags & 2 != 0 { connections[key]?.isAnswered = true }
        guard flags & 4 != 0, let connection = connections.removeValue(forKey: key), !isTold,
            let number = connection.number
        else {
            return
        }
        append(
            fromServer ? "server" : "client",
            connection.isAnswered ? "resets" : "refuses",
            of: number,
            nil,
            packet.time
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
        let event = PlanRecording.Event(
            moment: moment,
            connection: connection,
            fault: fault,
            offset: offset,
            what: what
        )
        events.append(Event(event: event))
    }
}
