import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import Units

/// A proxy with its clients and servers in one thread, drawn from a seed, from the start to the stop.
public final class World {
    /// What came of a world.
    public struct Outcome {
        /// What doesn't hold; empty where everything does.
        public var failures: [String]
        /// What the journal was told, and when.
        public var journal: [String]
        /// The bytes that the peers of the proxy have received.
        public var bytes: Int
        /// The calls to the system.
        public var calls: Int
    }

    /// What the closures of the proxy fill; all on one thread.
    private final class Log: @unchecked Sendable {
        var journal: [String] = []
        var unacknowledged = 0
        var changes = 0
        var trace: ((String) -> Void)?
    }

    /// The time of a world, 5,000 s: longer than the proxy keeps a connection whose ends are gone. Where a fault hides from
    /// it that they are, it keeps one for longer.
    private var timeLimit: Int64 { weather.mayHold ? 40_000_000_000_000 : 5_000_000_000_000 }
    /// The turns of the loops in a world, beyond which they are taken for endless.
    private static let turnLimit = 10_000_000

    private let seed: UInt64
    private var dice: Dice
    private let network: SimulatedNetwork
    private let loops: [EventLoop]
    /// The faults, and what they are changed to while connections live. What may be expected holds for all of them.
    private let weather: Weather
    private let changes: [(moment: Moment, profile: Profile)]
    private let disturbances: Disturbances
    private let isHTTP: Bool
    private let isBulk: Bool
    /// The proxy with the faults, and all there are.
    private let proxy: Proxy
    private let proxies: [Proxy]
    /// What a world with TLS has beside others.
    private let secure: SecureChain?
    private let log = Log()
    private let conversation: Conversation
    private var clients: [Peer] = []
    /// The servers' ends, one for each connection that the proxy makes.
    private var servers: [Peer] = []
    /// Clients of a proxy with TLS that have no session.
    private var strangers: [Peer] = []
    /// Whether all peers end their connections in order.
    private var isGentle = true
    private var failures: [String] = []

    /// Runs the world of a seed.
    public static func run(seed: UInt64, trace: ((String) -> Void)? = nil) -> Outcome {
        RunningWorld.begin(seed)
        do {
            return try World(seed: seed, trace: trace).live()
        } catch {
            return Outcome(failures: ["the world couldn't begin: \(error)"], journal: [], bytes: 0, calls: 0)
        }
    }

    private init(seed: UInt64, trace: ((String) -> Void)?) throws {
        self.seed = seed
        var dice = Dice(seed: seed)
        isHTTP = dice.once(in: 3)
        var weather = Weather.draw(&dice, isHTTP: isHTTP)
        // Dice of their own, so that the rest of a world stays as it was.
        var triggerDice = Dice(seed: seed ^ 0x7216)
        weather.addTriggers(&triggerDice)
        var (forwardDice, secureDice) = (Dice(seed: seed ^ 0xF0D), Dice(seed: seed ^ 0x715))
        let isForward = forwardDice.once(in: 4)
        let isSecure = !isForward && forwardDice.once(in: 4)
        let drawn = isForward ? Peer.Handshake.draw(&forwardDice) : nil
        let isIntercepted = isForward && forwardDice.once(in: 2)
        handshake = isIntercepted ? nil : drawn
        secure = isSecure || isIntercepted ? SecureChain(&secureDice, isIntercepted: isIntercepted) : nil
        if secure?.isFrontFaulty == false { weather.addTLS(&secureDice) }
        var slowDice = Dice(seed: seed ^ 0x510)
        let isSlow = secure?.isFrontFaulty == false && slowDice.once(in: 2)
        if isSlow { weather = .slowWire(&slowDice) }
        // Only bytes in bulk go through pipes.
        isBulk = dice.once(in: 4) || isSlow
        var disturbances = Disturbances.draw(&dice, isBulk: isBulk)
        // Three proxies share the descriptors: with fewer, one that holds connections keeps the next from accepting them.
        if secure != nil { disturbances.descriptorLimit = max(disturbances.descriptorLimit, SecureChain.descriptors) }
        self.disturbances = disturbances
        let loopCount = dice.number(1...2)
        network = SimulatedNetwork(seed: seed ^ 0x5EED, disturbances: disturbances, loops: loopCount)
        network.trace = trace
        log.trace = trace
        loops = try (0..<loopCount).map { [network] in try EventLoop(index: $0, on: network) }
        let most = isBulk ? 900_000 : 40_000
        let usual = isHTTP ? Conversation.http(&dice, most: most) : Conversation.plain(&dice, most: most)
        conversation = isSlow ? Conversation.filling(&slowDice) : usual
        trace?(weather.profile)
        trace?("\(disturbances)")
        let profile = try weather.read()
        var changes: [(Moment, Profile)] = []
        if dice.once(in: 3) {
            var moment = network.moment
            for _ in 0..<dice.number(1...6) {
                weather = weather.changed(&dice, isHTTP: isHTTP)
                weather.addTriggers(&triggerDice)
                if secure?.isFrontFaulty == false { weather.addTLS(&secureDice) }
                moment = moment.advanced(byNanoseconds: Int64(dice.spread(100_000...400_000_000)))
                changes.append((moment, try weather.read()))
                trace?("\(moment.nanoseconds): to become \(weather.profile)")
            }
            weather.cut = nil
        }
        self.weather = weather
        self.changes = changes
        var configuration = ProxyConfiguration(
            name: "main",
            listen: Endpoint(host: "127.0.0.1", port: 4_000),
            upstream: Endpoint(host: "127.0.0.1", port: 5_000),
            profile: profile,
            seed: seed
        )
        configuration.registry = ProxyRegistry()
        configuration.clockStart = network.moment
        // In place of a day.
        configuration.drainLimits.limit = .seconds(3_600)
        if dice.once(in: 10) { configuration.connectionLimit = dice.number(1...3) }
        if dice.once(in: 4) { configuration.linkHoldLimit = ByteCount(Int64(dice.spread(1_000...1_000_000))) }
        let servers = dice.once(in: 4) ? 2 : 1
        if isForward {
            configuration.destination = .requested(ForwardPolicy())
            let port = isIntercepted ? SecureChain.backPort : 5_000
            configuration.simulatedNames = { _ in .success(World.addresses(port, count: servers)) }
        }
        proxies = try (secure?.configurations(of: configuration) ?? [configuration]).map { [loops, log] one in
            let isMain = one.name == configuration.name
            return try Proxy.startSimulated(
                one,
                on: loops,
                listen: World.addresses(one.listen.port, count: 1)[0],
                upstream: one.destination.upstream.map { World.addresses($0.port, count: servers) } ?? [],
                journal: {
                    guard isMain else { return }
                    let line = "\($0)"
                    log.journal.append(line)
                    log.trace?(line)
                },
                report: {
                    if isMain, case .unacknowledgedAtReset = $0 { log.unacknowledged += 1 }
                    log.trace?("\(one.name): \($0)")
                }
            )
        }
        proxy = proxies[secure.map { $0.isFrontFaulty ? 0 : 1 } ?? 0]
        self.dice = dice
        isLimited = configuration.connectionLimit < 100
    }

    private static func addresses(_ port: UInt16, count: Int) -> [SocketAddress] {
        guard let address = SocketAddress(numericHost: "127.0.0.1", port: port) else {
            preconditionFailure("it is an address")
        }
        return Array(repeating: address, count: count)
    }

    private let isLimited: Bool
    /// What the clients of a forward proxy say to it first; `nil` where the proxy has one server.
    private let handshake: Peer.Handshake?

    /// Whether nothing but the peers themselves may end a connection before its time.
    private var isFair: Bool { !weather.endsConnections && !disturbs }

    /// Whether something beside faults may end a connection before its time.
    private var disturbs: Bool { disturbances.endsConnections || isLimited || secure?.endsConnections ?? false }

    // MARK: Life

    private func live() -> Outcome {
        plant()
        run(until: network.moment.advanced(byNanoseconds: timeLimit), isOver: { [unowned self] in isOver })
        judge()
        trace("stop")
        for proxy in proxies { proxy.stopSimulated() }
        run(until: network.moment.advanced(byNanoseconds: 10_000_000_000))
        deferRelease()
        let bytes = (clients + servers).reduce(0) { $0 + $1.received }
        network.forgetAll()
        return Outcome(failures: failures, journal: log.journal, bytes: bytes, calls: network.calls)
    }

    /// Puts changes of the proxy's clock into the agenda of some worlds. The last one has the clock run.
    private func plantClock() {
        // Dice of their own, so that the rest of a world stays as it was.
        var dice = Dice(seed: seed ^ 0xC10C)
        guard dice.once(in: 3) else { return }
        let actions: [ClockAction] = [.pause, .resume, .restart, .step(phase: "gone 1"), .step(phase: "there 2")]
        var (moment, count) = (network.moment, dice.number(1...6))
        while count > 0 {
            count -= 1
            moment = moment.advanced(byNanoseconds: Int64(dice.spread(100_000...100_000_000)))
            let action = count == 0 ? ClockAction.resume : dice.pick(actions)
            let act = { [unowned self] in
                trace("clock: \(action)")
                proxy.setClockSimulated(action) { _ in }
            }
            network.agenda.add(.run(act), at: moment)
        }
    }

    private func trace(_ text: String) { network.trace?("\(network.moment.nanoseconds): \(text)") }

    private func fail(_ text: String) {
        failures.append(text)
        trace("failure: \(text)")
    }

    /// Puts the clients, and the changes of the profile, into the agenda.
    private func plant() {
        for (moment, profile) in changes {
            network.agenda.add(
                .run { [unowned self] in
                    trace("change")
                    proxy.applySimulated(profile) { [log] in if $0 != nil { log.changes += 1 } }
                },
                at: moment
            )
        }
        plantClock()
        network.serve = { [unowned self] end in serve(end) }
        for index in 0..<dice.number(1...(isBulk ? 2 : 6)) {
            let client = Peer(
                "client \(index + 1)",
                in: network,
                sends: conversation.request,
                expects: weather.changesBytes ? nil : conversation.response,
                gates: conversation.clientGates,
                manners: manners(ofClient: true),
                handshake: handshake
            )
            clients.append(client)
            plant(client, to: 4_000)
        }
        for content in secure?.strangers ?? [] {
            isGentle = false
            var manners = Peer.Manners()
            manners.endsEarly = dice.once(in: 2)
            let stranger = Peer(
                "stranger \(strangers.count + 1)",
                in: network,
                sends: content,
                expects: nil,
                gates: [],
                manners: manners
            )
            strangers.append(stranger)
            plant(stranger, to: secure?.strangersPort ?? 0)
        }
    }

    private func plant(_ client: Peer, to port: UInt16) {
        let moment = network.moment.advanced(byNanoseconds: Int64(dice.number(0...80_000_000)))
        network.agenda.add(.run { [unowned self] in connect(client, to: port, tries: 20) }, at: moment)
    }

    private func connect(_ client: Peer, to port: UInt16, tries: Int) {
        if let end = network.connectClient(to: port) {
            client.take(end)
        } else if tries > 0 {
            let moment = network.moment.advanced(byNanoseconds: Int64(dice.number(1_000_000...30_000_000)))
            network.agenda.add(.run { [unowned self] in connect(client, to: port, tries: tries - 1) }, at: moment)
        } else {
            client.failToConnect()
        }
    }

    /// The proxy has connected. For which client isn't known, so they all have the same conversation.
    private func serve(_ end: SimulatedSocket) {
        let server = Peer(
            "server \(servers.count + 1)",
            in: network,
            sends: conversation.response,
            expects: weather.changesBytes ? nil : conversation.request,
            gates: conversation.serverGates,
            manners: manners(ofClient: false)
        )
        servers.append(server)
        server.take(end)
    }

    /// Draws how a peer behaves. A server ends its stream when it has sent everything, a client perhaps only then.
    private func manners(ofClient isClient: Bool) -> Peer.Manners {
        var manners = Peer.Manners()
        manners.endsEarly = !isClient || dice.once(in: 2)
        manners.sendsAfterEnd = !dice.once(in: 3)
        if dice.once(in: 3) { manners.receivePause = 0...5_000_000 }
        if dice.once(in: 3) { manners.sendPause = 0...0 }
        if dice.once(in: isBulk ? 2 : 4) { manners.receiveChunk = 60_000...300_000 }
        if dice.once(in: isBulk ? 2 : 4) { manners.sendChunk = 60_000...600_000 }
        if dice.once(in: 6) {
            manners.stuckAt = dice.spread(0...100_000)
            manners.stuckFor = Int64(dice.spread(1_000_000...5_000_000_000))
        }
        if dice.once(in: 12) {
            manners.resetsAt = dice.spread(0...100_000)
            isGentle = false
        }
        if dice.once(in: 12) {
            manners.closesAt = dice.spread(0...100_000)
            isGentle = false
        }
        return manners
    }

    // MARK: Turns

    /// Whether all peers have gone, and their connections with them.
    private var isOver: Bool {
        peers.allSatisfy(\.isDone) && open == 0
            && !network.listeners.values.contains { !$0.queue.isEmpty }
    }

    private var peers: [Peer] { clients + servers + strangers }

    private var open: Int { proxies.reduce(0) { $0 + $1.simulatedStatistics.open } }

    private func run(until end: Moment, isOver: () -> Bool = { false }) {
        var turns = 0
        while network.moment < end {
            let runnable = loops.indices.filter { loops[$0].hasWork || network.hasPending($0) || rings($0) }
            if network.agenda.next <= network.moment, runnable.isEmpty || dice.once(in: 2) {
                network.performNext()
            } else if !runnable.isEmpty {
                turns += 1
                guard turns < World.turnLimit else { return fail("the loops take turns without an end") }
                take(dice.pick(runnable))
            } else {
                let next = loops.indices.reduce(network.agenda.next) { min($0, wakeUp(of: $1)) }
                if next == .distantFuture || isOver() { return }
                network.advance(to: next)
            }
        }
    }

    /// How late each loop is woken the next time.
    private lazy var lateness = loops.map { _ in Int64(0) }

    private func wakeUp(of loop: Int) -> Moment {
        let ring = loops[loop].ring
        return ring < .distantFuture ? ring.advanced(byNanoseconds: lateness[loop]) : ring
    }

    private func rings(_ loop: Int) -> Bool { wakeUp(of: loop) <= network.moment }

    private func take(_ loop: Int) {
        let rings = rings(loop)
        if rings { lateness[loop] = Int64(dice.spread(disturbances.lateness)) }
        // A loop that only waits for a moment that is near takes turns of no effect.
        network.advance(by: network.hasPending(loop) ? dice.number(200...2_000) : dice.number(200...20_000))
        loops[loop].turn(rings: rings) { network.callBack(loop) }
    }

    // MARK: Judgement

    private func judge() {
        if open > 0 { fail("\(open) connections are still there when all peers have gone") }
        if network.listeners.values.contains(where: \.isReady) { fail("clients wait, and nobody accepts them") }
        for peer in peers {
            if let place = peer.wrongByte { fail("\(peer.name) received a wrong byte at \(place)") }
            if !peer.isDone { fail("\(peer.name) never came to an end") }
        }
        // A handshake has a time limit, unless a fault hides the client.
        for stranger in strangers where stranger.hasGivenUp && !weather.mayHold {
            fail("\(stranger.name) was never sent away")
        }
        if !weather.changesBytes {
            judge("clients", clients, "servers", servers)
            judge("servers", servers, "clients", clients)
        }
        // The world may end before the last ones are due.
        if log.changes > changes.count { fail("a change was told twice") }
        if isFair, isGentle, servers.count < clients.count { fail("a client never reached the server") }
        if let cut = weather.cut, isGentle, !disturbs { judge(cut) }
    }

    /// Nothing has come that wasn't sent, and where nothing ends a connection before its time, everything has, with its end.
    private func judge(_ name: String, _ receivers: [Peer], _ others: String, _ senders: [Peer]) {
        let received = receivers.reduce(0) { $0 + $1.received }
        let sent = senders.reduce(0) { $0 + $1.sent }
        if received > sent { fail("the \(name) received more than was sent") }
        guard isFair, isGentle else { return }
        if received != sent { fail("the \(name) received \(received) of the \(sent) bytes that the \(others) sent") }
        for receiver in receivers {
            if receiver.hasSeenReset { fail("\(receiver.name) saw a reset that nobody sent") }
            if receiver.hasGivenUp { fail("\(receiver.name) gave up") }
        }
    }

    private func judge(_ cut: (isDownstream: Bool, offset: Int, isReset: Bool)) {
        let receivers = cut.isDownstream ? clients : servers
        let length = (cut.isDownstream ? conversation.response : conversation.request).count
        guard length >= cut.offset, log.journal.count == clients.count else { return }
        // Each takes something within the time that a reset waits.
        if log.unacknowledged > 0 { fail("a reset didn't wait for its receiver") }
        for receiver in receivers where !receiver.hasGivenUp {
            if receiver.received != cut.offset {
                fail("\(receiver.name) received \(receiver.received) bytes before the cut at \(cut.offset)")
            }
            if receiver.hasSeenReset != cut.isReset, receiver.hasSeenEnd == cut.isReset {
                fail("\(receiver.name) saw the wrong end")
            }
        }
    }

    /// Everything has been given back.
    private func deferRelease() {
        failures += network.violations
        for loop in loops {
            let left = loop.endSimulation()
            if left.timers > 0 { fail("\(left.timers) timers are left") }
            if left.slabs > 0 { fail("\(left.slabs) slabs of memory are left") }
            if left.pipes > 0 { fail("\(left.pipes) pipes are left") }
        }
        if !network.openDescriptors.isEmpty { fail("\(network.openDescriptors.count) descriptors are left") }
    }
}
