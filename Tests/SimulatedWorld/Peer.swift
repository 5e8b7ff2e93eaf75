import Glibc
import Units

/// A client or a server of the proxy: sends what it has, receives what it is sent, and compares.
final class Peer {
    /// How a peer behaves.
    struct Manners {
        var sendChunk = 1...60_000
        var sendPause = 0...2_000_000
        var receiveChunk = 1...60_000
        var receivePause = 0...500_000
        /// Bytes after which it doesn't receive for `stuckFor`; `nil` is never.
        var stuckAt: Int?
        var stuckFor: Int64 = 0
        /// Bytes of its own after which it resets the connection; `nil` is never.
        var resetsAt: Int?
        /// Bytes that it has received after which it closes, whatever comes; `nil` is never.
        var closesAt: Int?
        /// Whether it ends its stream as soon as it has sent everything, or when the other end has.
        var endsEarly = true
        /// Whether it goes on sending when the other end has ended.
        var sendsAfterEnd = true
        /// The time without a byte after which it gives up.
        var patience: Int64 = 900_000_000_000
    }

    /// What a client of a forward proxy says first. It counts neither in `sent` nor in `received`.
    struct Handshake {
        let request: [UInt8]
        /// The reply of a proxy that has connected; another one is an error.
        let reply: [UInt8]
        /// Whether the content follows the request at once.
        let isHasty: Bool

        /// That of HTTP.
        static func connect(isHasty: Bool = false) -> Handshake {
            let reply = "HTTP/1.1 200 Connection established\r\n\r\n"
            let request = "CONNECT server.example:5000 HTTP/1.1\r\nHost: server.example\r\n\r\n"
            return Handshake(request: Array(request.utf8), reply: Array(reply.utf8), isHasty: isHasty)
        }

        /// Draws HTTP or SOCKS5, for a server that every name leads to.
        static func draw(_ dice: inout Dice) -> Handshake {
            let isHasty = dice.once(in: 3)
            if dice.once(in: 2) { return connect(isHasty: isHasty) }
            return Handshake(
                request: [5, 1, 0, 5, 1, 0, 3, 1, 97, 19, 136],
                reply: [5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0],
                isHasty: isHasty
            )
        }
    }

    let name: String
    private let network: SimulatedNetwork
    private(set) var end: SimulatedSocket?
    private let content: [UInt8]
    /// What it has to receive; `nil` where a fault changes bytes.
    private let expected: [UInt8]?
    /// Up to where it may send once it has received so many bytes, in their order.
    private var gates: [(received: Int, upTo: Int)]
    private let manners: Manners
    /// What is left to say, and to hear, of the handshake.
    private var greeting: ArraySlice<UInt8>
    private var awaited: ArraySlice<UInt8>
    private let isHasty: Bool
    private var isRefused = false

    private(set) var sent = 0
    private(set) var received = 0
    /// Whether the other end's stream has ended in order.
    private(set) var hasSeenEnd = false
    /// Whether the connection was reset.
    private(set) var hasSeenReset = false
    /// Whether it gave up, or ended the connection against the other's will.
    private(set) var hasGivenUp = false
    private(set) var isDone = false
    /// The first byte that isn't the right one.
    private(set) var wrongByte: Int?

    private var nextSend: Moment
    private var nextReceive: Moment
    private var lastProgress: Moment
    private var wasStuck = false
    private var isBlocked = false
    private var isEmptyHanded = false
    private var actsAt = Moment.distantFuture

    init(
        _ name: String,
        in network: SimulatedNetwork,
        sends content: [UInt8],
        expects expected: [UInt8]?,
        gates: [(received: Int, upTo: Int)],
        manners: Manners,
        handshake: Handshake? = nil
    ) {
        greeting = (handshake?.request ?? [])[...]
        awaited = (handshake?.reply ?? [])[...]
        isHasty = handshake?.isHasty ?? true
        self.name = name
        self.network = network
        self.content = content
        self.expected = expected
        self.gates = gates
        self.manners = manners
        nextSend = network.moment
        nextReceive = network.moment
        lastProgress = network.moment
    }

    /// Takes over its end of a connection.
    func take(_ end: SimulatedSocket) {
        self.end = end
        end.actor = self
        lastProgress = network.moment
        actsAt = network.moment
        act(at: network.moment)
    }

    /// It couldn't connect, and goes.
    func failToConnect() {
        hasSeenReset = true
        isDone = true
    }

    /// Its socket has something new.
    func noteChange() {
        isBlocked = false
        isEmptyHanded = false
        schedule(at: network.moment.advanced(byNanoseconds: 1_000))
    }

    private func schedule(at moment: Moment) {
        guard !isDone, moment < actsAt else { return }
        actsAt = moment
        network.agenda.add(.act(self), at: moment)
    }

    /// Goes on.
    func act(at now: Moment) {
        // A task that an earlier one has taken the place of.
        guard now >= actsAt, !isDone, let end else { return }
        actsAt = .distantFuture
        defer { network.trace?("\(now.nanoseconds): \(progress)") }
        if now - lastProgress >= .nanoseconds(manners.patience) { return giveUp(end) }
        receiveSome(end, now)
        if isDone { return }
        sendSome(end, now)
        if isDone { return }
        finishIfDone(end)
        if isDone { return }
        var next = lastProgress.advanced(byNanoseconds: manners.patience)
        if !isBlocked, sent < limit || !greeting.isEmpty, !end.hasSentEnd { next = min(next, nextSend) }
        if !isEmptyHanded, !hasSeenEnd { next = min(next, nextReceive) }
        schedule(at: max(next, now.advanced(byNanoseconds: 100)))
    }

    /// How far it has come, for a trace.
    private var progress: String {
        let states = [(hasSeenEnd, "end"), (hasSeenReset, "reset"), (isDone, "done")]
        return (["\(name): sent \(sent) of \(limit), received \(received)"] + states.filter(\.0).map(\.1))
            .joined(separator: ", ")
    }

    /// Up to where it may send by now.
    private var limit: Int {
        if !greeting.isEmpty || !isHasty && !awaited.isEmpty { return 0 }
        var limit = 0
        for gate in gates {
            guard received >= gate.received else { break }
            limit = gate.upTo
        }
        return gates.isEmpty ? content.count : min(limit, content.count)
    }

    private func pause(_ range: ClosedRange<Int>) -> Int64 { Int64(network.dice.number(range)) }

    private func sendSome(_ end: SimulatedSocket, _ now: Moment) {
        guard !isBlocked, !end.hasSentEnd, now >= nextSend else { return }
        if !greeting.isEmpty { return greet(end, now) }
        guard sent < limit else { return }
        if let most = manners.resetsAt, sent >= most {
            end.closesByReset = true
            return giveUp(end)
        }
        let length = min(limit - sent, network.dice.spread(manners.sendChunk))
        let count = content.withUnsafeBytes {
            network.sendNow(end, UnsafeRawBufferPointer(rebasing: $0[sent..<sent + length]), isProxy: false)
        }
        if count > 0 { sent += count }
        noteSending(count, now)
    }

    /// Sends of the handshake what goes.
    private func greet(_ end: SimulatedSocket, _ now: Moment) {
        let length = min(greeting.count, network.dice.spread(manners.sendChunk))
        let count = greeting.withUnsafeBytes {
            network.sendNow(end, UnsafeRawBufferPointer(rebasing: $0[..<length]), isProxy: false)
        }
        if count > 0 { greeting = greeting.dropFirst(count) }
        noteSending(count, now)
    }

    private func noteSending(_ count: Int, _ now: Moment) {
        if count > 0 {
            lastProgress = now
            nextSend = now.advanced(byNanoseconds: pause(manners.sendPause))
        } else if errno == EAGAIN {
            isBlocked = true
        } else {
            // The receive tells of the reset, behind what has come.
            isBlocked = true
            hasSeenReset = true
        }
    }

    private func receiveSome(_ end: SimulatedSocket, _ now: Moment) {
        guard !isEmptyHanded, !hasSeenEnd, now >= nextReceive else { return }
        if let place = manners.stuckAt, received >= place, !wasStuck {
            wasStuck = true
            nextReceive = now.advanced(byNanoseconds: manners.stuckFor)
            lastProgress = nextReceive
            return
        }
        let length = network.dice.spread(manners.receiveChunk)
        withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) { buffer in
            guard let base = buffer.baseAddress else { return }
            let count = network.receiveNow(end, base, length, isProxy: false)
            if count > 0 {
                check(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
                lastProgress = now
                nextReceive = now.advanced(byNanoseconds: pause(manners.receivePause))
            } else if count == 0 {
                hasSeenEnd = true
                lastProgress = now
            } else if errno == EAGAIN {
                isEmptyHanded = true
            } else {
                hasSeenReset = true
                finish(end)
            }
        }
        if isRefused, !isDone {
            hasSeenReset = true
            return giveUp(end)
        }
        if let most = manners.closesAt, received >= most, awaited.isEmpty, !isDone { giveUp(end) }
    }

    private func check(_ all: UnsafeRawBufferPointer) {
        let reply = min(awaited.count, all.count)
        if !awaited.prefix(reply).elementsEqual(all.prefix(reply)) { isRefused = true }
        if isRefused { return }
        awaited = awaited.dropFirst(reply)
        let bytes = UnsafeRawBufferPointer(rebasing: all[reply...])
        if let expected, wrongByte == nil {
            let end = received + bytes.count
            if end > expected.count || !expected[received..<end].elementsEqual(bytes) {
                let place = bytes.indices.first {
                    received + $0 >= expected.count || expected[received + $0] != bytes[$0]
                }
                wrongByte = received + (place ?? 0)
            }
        }
        received += bytes.count
    }

    private func finishIfDone(_ end: SimulatedSocket) {
        let hasSentAll = greeting.isEmpty && sent == content.count
        if hasSeenReset, end.inbox.isEmpty { return finish(end) }
        if !end.hasSentEnd, hasSentAll && (manners.endsEarly || hasSeenEnd) || hasSeenEnd && !manners.sendsAfterEnd {
            network.shutdown(end)
        }
        // A server whose client has ended before it was to answer has nothing more to say.
        if hasSeenEnd, !end.hasSentEnd, sent == limit { network.shutdown(end) }
        if hasSeenEnd, end.hasSentEnd { finish(end) }
    }

    private func giveUp(_ end: SimulatedSocket) {
        hasGivenUp = true
        finish(end)
    }

    private func finish(_ end: SimulatedSocket) {
        isDone = true
        network.closeEnd(end)
    }
}
