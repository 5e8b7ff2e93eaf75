import CLossLink
import Glibc

/// Carries packets between two TUN devices, the clients' and the server's, with a link for each flow and direction.
///
/// It runs on one thread. It holds at most 65,536 packets and 65,536 flows, and drops and counts what comes beyond.
final class Relay {
    static let largestPacket = 1500
    static let packetLimit = 65_536
    static let flowLimit = 65_536
    static let batch = 32

    private final class Flow {
        let port: UInt16
        let clientPort: UInt16
        let cell: Cell
        /// Upstream and downstream.
        var links: [Link]
        var losses: LossProcess
        var data = 0
        var lost = 0
        var overflowed = 0
        var lateness = Histogram()
        var firstSequences: [UInt32] = [0, 0]
        var outage: LinkOutage

        init(port: UInt16, clientPort: UInt16, cell: Cell, generator: Generator) {
            outage = LinkOutage(cell, at: monotonic())
            self.port = port
            self.clientPort = clientPort
            self.cell = cell
            links = [Link(queuePackets: cell.queuePackets), Link(queuePackets: cell.queuePackets)]
            losses = LossProcess(cell, generator)
        }
    }

    private struct Waiting {
        let due: UInt64
        let slot: Int
        let length: Int
        let direction: Int
        let flow: Flow
    }

    /// The clients' device and the server's.
    private let devices: [Int32]
    private let seed: UInt64
    private var cells: [UInt16: Cell] = [:]
    private var flows: [UInt32: Flow] = [:]
    private var flowCount = 0
    private var ordinals: [UInt16: UInt64] = [:]
    private let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: largestPacket * packetLimit)
    private var freeSlots = Array((0..<packetLimit).reversed())
    private var waiting: [Waiting] = []
    private var refused = 0
    private var largestPayload = 0
    private var pauses = Histogram()
    private var log: PacketLog?

    init(_ arguments: [String]) {
        devices = arguments[0...1].map { number($0, within: 0...65_535, "a descriptor") }
        seed = number(arguments[2], within: 0...UInt64.max, "SEED")
        if arguments.count == 5 {
            log = PacketLog(path: arguments[3], port: number(arguments[4], within: 1...65_535, "LOG-PORT"))
        }
        for row in readTable(fields: 9, of: "CELLS") {
            let port: UInt16 = number(row[0], within: 1...65_535, "PORT")
            cells[port] = Cell(
                bitsPerSecond: number(row[1], within: 1000...1e12, "BITS-PER-SECOND"),
                oneWayNanoseconds: number(row[2], within: 0...60_000_000, "ROUND-TRIP-MICROSECONDS") * 500,
                queuePackets: number(row[3], within: 1...100_000, "QUEUE-PACKETS"),
                loss: number(row[4], within: 0...0.99, "LOSS"),
                burst: number(row[5], within: 1...1000, "BURST"),
                handshakeLoss: number(row[6], within: 0...0.99, "SYN-LOSS"),
                outage: (
                    number(row[7], within: 0...1_000_000, "OUTAGE-AFTER-MILLISECONDS") * 1_000_000,
                    number(row[8], within: 0...1_000_000, "OUTAGE-MILLISECONDS") * 1_000_000
                )
            )
        }
        for device in devices { setNonBlocking(device) }
        set_timer_slack(1)
    }

    func run() {
        var descriptors = (devices + [0]).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var looked = monotonic()
        while true {
            release()
            var readAny = false
            for direction in 0...1 { readAny = read(direction) || readAny }
            let now = monotonic()
            pauses.add(nanoseconds: now - looked)
            looked = now
            if readAny { continue }
            var timeout = timespec(tv_sec: 3600, tv_nsec: 0)
            if let next = waiting.first {
                let wait = next.due > now ? next.due - now : 0
                timeout = timespec(tv_sec: Int(wait / 1_000_000_000), tv_nsec: Int(wait % 1_000_000_000))
            }
            ppoll(&descriptors, 3, &timeout, nil)
            looked = monotonic()
            if descriptors[2].revents != 0 { break }
        }
        for flow in flows.values { report(flow) }
        print(
            "largest-payload",
            largestPayload,
            "refused",
            refused,
            "flows",
            flowCount,
            "pause-p99-us",
            pauses.microseconds(below: 0.99),
            "pause-max-us",
            Double(pauses.largest) / 1000
        )
        log?.end()
    }

    /// Sends what is due.
    private func release() {
        while let next = waiting.first {
            let now = monotonic()
            if next.due > now { return }
            removeFirst()
            next.flow.lateness.add(nanoseconds: now - next.due)
            // Upstream goes out at the server's device, downstream at the clients'.
            _ = write(devices[1 - next.direction], memory + next.slot * Relay.largestPacket, next.length)
            freeSlots.append(next.slot)
        }
    }

    /// Takes a batch of packets of a device; whether there were any.
    private func read(_ direction: Int) -> Bool {
        for taken in 0..<Relay.batch {
            guard let slot = freeSlots.popLast() else {
                var discarded: UInt8 = 0
                if Glibc.read(devices[direction], &discarded, 1) <= 0 { return taken > 0 }
                refused += 1
                continue
            }
            let bytes = memory + slot * Relay.largestPacket
            let length = Glibc.read(devices[direction], bytes, Relay.largestPacket)
            if length <= 0 {
                freeSlots.append(slot)
                return taken > 0
            }
            if !take(bytes, length, slot, direction) { freeSlots.append(slot) }
        }
        return true
    }

    /// Puts a packet on its way; `false` if it goes nowhere.
    private func take(_ bytes: UnsafeMutablePointer<UInt8>, _ length: Int, _ slot: Int, _ direction: Int) -> Bool {
        guard let packet = Packet(bytes, length: length) else { return false }
        let (clientPort, port) =
            direction == 0
            ? (packet.sourcePort, packet.destinationPort) : (packet.destinationPort, packet.sourcePort)
        guard let flow = flow(clientPort, port, begins: direction == 0 && packet.hasSYN && !packet.hasACK) else {
            refused += 1
            return false
        }
        if packet.hasSYN { flow.firstSequences[direction] = packet.sequence }
        let now = monotonic()
        if direction == 1, packet.payload > 0 {
            let offset = packet.sequence &- flow.firstSequences[1]
            flow.outage.note(offset: offset, payload: packet.payload, at: now)
        }
        if flow.outage.loses(at: now) { return false }
        let sent = flow.links[direction].accept(bytes: length, at: now, bitsPerSecond: flow.cell.bitsPerSecond)
        let isLost: Bool
        if packet.hasSYN {
            isLost = flow.losses.losesHandshake()
        } else if direction == 1, packet.payload > 0, sent != nil {
            isLost = flow.losses.losesData()
            flow.data += 1
            largestPayload = max(largestPayload, packet.payload)
        } else {
            isLost = false
        }
        let due = sent.map { $0 + flow.cell.oneWayNanoseconds }
        log?.add(
            packet,
            direction: direction,
            at: now,
            port: port,
            first: flow.firstSequences,
            fate: isLost ? .lost : due.map { .due($0) } ?? .overflowed
        )
        guard let due else {
            flow.overflowed += 1
            return false
        }
        if isLost {
            flow.lost += 1
            return false
        }
        insert(Waiting(due: due, slot: slot, length: length, direction: direction, flow: flow))
        return true
    }

    private func flow(_ clientPort: UInt16, _ port: UInt16, begins: Bool) -> Flow? {
        let key = UInt32(clientPort) << 16 | UInt32(port)
        if let known = flows[key] {
            // A port that is used again, rather than a SYN that is sent again.
            if !begins || known.data == 0 { return known }
            report(known)
        }
        guard begins, let cell = cells[port], flows.count < Relay.flowLimit || flows[key] != nil else { return nil }
        let ordinal = ordinals[port, default: 0]
        ordinals[port] = ordinal + 1
        flowCount += 1
        let new = Flow(
            port: port,
            clientPort: clientPort,
            cell: cell,
            generator: Generator(seed: seed, UInt64(port), ordinal)
        )
        flows[key] = new
        return new
    }

    private func report(_ flow: Flow) {
        print(
            "flow",
            flow.port,
            flow.clientPort,
            flow.data,
            flow.lost,
            flow.overflowed,
            flow.lateness.microseconds(below: 0.99),
            Double(flow.lateness.largest) / 1000,
            flow.outage.attempts.map { "\($0.isAgain ? "again" : "new")=\($0.time)" }.joined(separator: " ")
        )
    }

    // MARK: A heap by the time that is due

    private func insert(_ new: Waiting) {
        waiting.append(new)
        var index = waiting.count - 1
        while index > 0, waiting[(index - 1) / 2].due > waiting[index].due {
            waiting.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private func removeFirst() {
        waiting.swapAt(0, waiting.count - 1)
        waiting.removeLast()
        var index = 0
        while true {
            var least = 2 * index + 1
            if least >= waiting.count { return }
            if least + 1 < waiting.count, waiting[least + 1].due < waiting[least].due { least += 1 }
            if waiting[index].due <= waiting[least].due { return }
            waiting.swapAt(index, least)
            index = least
        }
    }
}
