import EventLoop
import FaultPlan
import Units

/// The capture of one connection: its two legs, and the comments that wait for the next packet of either. A packet that has
/// waited itself takes none.
final class ConnectionCapture {
    /// The most comments that wait for a packet: 32.
    private static let commentLimit = 32
    /// The most characters of a comment: 1,000. Names by Toxiproxy's API have any length.
    private static let commentLength = 1_000
    private static let clients: UInt32 = 0
    private static let servers: UInt32 = 1

    private let capture: Capture
    private unowned let shard: Shard
    var comments: [String] = []
    private weak var client: CapturedLeg?
    private weak var server: CapturedLeg?

    init(_ capture: Capture, _ shard: Shard) { (self.capture, self.shard) = (capture, shard) }

    /// Captures the accepted socket of a client, which may be gone already.
    func accepted(_ socket: StreamSocket) {
        let number = capture.nextNumber()
        let near = end(socket.localAddress, or: "unix socket of proxy \(shard.context.configuration.name)", port: 1)
        let far = end(socket.peerAddress, or: "unix client", port: ConnectionCapture.port(number))
        let leg = leg(number, ConnectionCapture.clients, near, far)
        client = leg
        socket.add(leg)
        leg.accepted()
    }

    /// Captures a socket that connects to a server at `address`, which a client or a profile has called `host`.
    func dialed(_ socket: StreamSocket, to address: SocketAddress, host: String?) {
        let number = capture.nextNumber()
        let near = end(socket.localAddress, or: "unix client", port: ConnectionCapture.port(number))
        var far = CapturedPacket.End(address: capture.bytes(of: address.canonical), port: address.port)
        if address.unix != nil {
            far.port = 1
        } else if let host, host != address.host {
            capture.add(name: host, of: far.address)
        }
        let leg = leg(number, ConnectionCapture.servers, near, far)
        server = leg
        socket.add(leg)
        leg.dialed()
    }

    /// The port that stands for that of a Unix-domain socket.
    private static func port(_ number: UInt32) -> UInt16 { max(2, UInt16(truncatingIfNeeded: number)) }

    private func leg(
        _ number: UInt32,
        _ interface: UInt32,
        _ near: CapturedPacket.End,
        _ far: CapturedPacket.End
    ) -> CapturedLeg {
        CapturedLeg(
            of: self,
            number: number,
            interface: interface,
            near: near.matching(far),
            far: far.matching(near),
            awaitsSecrets: capture.awaitsSecrets
        )
    }

    private func end(_ address: SocketAddress?, or name: String, port: UInt16) -> CapturedPacket.End {
        guard let address = address?.canonical, address.unix == nil else {
            return .init(address: capture.standIn(name), port: port)
        }
        return .init(address: capture.bytes(of: address), port: address.port)
    }

    /// Says on the next packet that a fault has acted.
    func note(_ entry: JournalEntry, of plan: Plan) {
        guard comments.count < ConnectionCapture.commentLimit else { return }
        let seconds = Double((entry.moment - plan.schedule.start).nanoseconds / 1_000_000) / 1_000
        var parts = ["\(entry.kind.rawValue) “\(entry.fault)” \(entry.effect.word)"]
        if let direction = entry.direction { parts.append(direction.rawValue) }
        if let offset = entry.offset { parts.append("offset \(offset)") }
        if let place = entry.place, place.base != .connection {
            parts.append("of \(place.base.rawValue) of request \(place.request)")
        }
        if let connection = entry.connection { parts.append("connection \(connection)") }
        parts.append("proxy “\(entry.proxy)”")
        if let phase = plan.schedule.interval(at: entry.moment).phase {
            parts.append("phase “\(plan.profile.phases[phase].name)”")
        }
        parts.append("\(seconds) s")
        let text = parts.joined(separator: ", ").shortened(to: ConnectionCapture.commentLength)
        let (source, sink) = entry.direction == .upstream ? (client, server) : (server, client)
        switch entry.effect {
        case .cuts(.reset), .cuts(.close), .cuts(.notify), .resets, .refuses, .answers, .alerts:
            // An end follows on the side that loses the bytes, with TLS behind the records that wait.
            if let sink, sink.isOpen { sink.comments.append(text) } else { comments.append(text) }
        default:
            comments.append(text)
            if let source, source.hasUnacknowledged {
                source.acknowledge()
            } else if let sink, sink.hasUnacknowledged {
                sink.acknowledge()
            }
        }
    }

    var now: Moment { shard.loop.now }

    /// Appends a packet of now, or one that has waited since `moment`.
    func append(_ packet: CapturedPacket, _ content: Span<UInt8>, _ own: [String], at moment: Moment?) {
        if let moment { return capture.append(packet, content: content, comments: [], at: moment) }
        notePhase(at: now)
        capture.append(packet, content: content, comments: comments + own, at: now)
        comments.removeAll()
    }

    /// Says on the first packet of a phase that it has begun.
    private func notePhase(at now: Moment) {
        let plan = shard.plan
        guard !plan.profile.phases.isEmpty else { return }
        let interval = plan.schedule.interval(at: now)
        let begin = interval.begin.nanoseconds
        guard let phase = interval.phase, shard.context.capturedPhase.exchange(begin, ordering: .relaxed) != begin
        else {
            return
        }
        comments.append("phase “\(plan.profile.phases[phase].name)” of proxy “\(plan.proxy)” has begun")
    }
}

extension CapturedPacket.End {
    /// The same end, as IPv6 if the other one is (RFC 4291, section 2.5.5.2).
    fileprivate func matching(_ other: CapturedPacket.End) -> CapturedPacket.End {
        guard address.count < other.address.count else { return self }
        return .init(address: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + address, port: port)
    }
}
