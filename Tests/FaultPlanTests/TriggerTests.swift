import SimulatedLink
import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("A trigger")
struct TriggerTests {
    private func duty(_ on: Int, _ off: Int, offset: Int = 0) -> Condition {
        Condition(
            duty: DutyCycle(on: .milliseconds(on), off: .milliseconds(off), offset: .milliseconds(offset))
        )
    }

    private func clock(_ from: Int, _ until: Int? = nil) -> Condition {
        Condition(clock: ClockWindow(from: .milliseconds(from), until: until.map { .milliseconds($0) }))
    }

    // MARK: Client

    private func hit(_ clients: [String?], by ranges: String...) throws -> [Bool] {
        let condition = Condition(clients: try ranges.map { try AddressRange(parsing: $0) })
        var admitter = Admitter.of(.of([.cut(at: 0).when(condition)]))
        return clients.map { !admitter.accept(at: .zero, ConnectionFacts(client: $0)).upstream.isTransparent }
    }

    @Test
    func `by address picks the clients of its ranges, and nobody who isn't known`() throws {
        let clients = ["127.0.0.1", "127.0.0.2", "::ffff:127.0.0.2", "::1", "fd00::7", "nonsense", nil]
        #expect(try hit(clients, by: "127.0.0.2") == [false, true, true, false, false, false, false])
        #expect(try hit(clients, by: "127.0.0.0/8") == [true, true, true, false, false, false, false])
        #expect(try hit(clients, by: "::1", "fd00::/8") == [false, false, false, true, true, false, false])
    }

    @Test
    func `by address has the plan ask for it`() throws {
        let condition = Condition(clients: [try AddressRange(parsing: "::1")])
        #expect(Plan.of(.of([.cut(at: 0).when(condition)])).asksForClient)
        #expect(!Plan.of(.of([.cut(at: 0)])).asksForClient)
    }

    // MARK: Clock

    @Test
    func `by the clock is on and off for a live connection`() {
        let silence = Fault.outage(.silence).when(clock(2, 5))
        #expect(timeline(of: .with(silence), arrivals: "11111111|") == "11---411|")
        #expect(timeline(of: .with(.outage(.silence).when(clock(3))), arrivals: "1111|", ticks: 9) == "111------")
    }

    @Test
    func `by the clock counts from the start of the proxy and not of the connection`() {
        var admitter = Admitter(
            Plan(
                profile: .of([.outage(.silence).when(clock(1, 4))]),
                seed: 1,
                proxy: "p",
                start: .milliseconds(2)
            )
        )
        #expect(timeline(of: admitter.accept(at: .zero).downstream, arrivals: "11111111|") == "111---41|")
        #expect(timeline(of: admitter.accept(at: .milliseconds(6)).downstream, arrivals: "------11|") == "------11|")
    }

    // MARK: Duty

    @Test
    func `by a duty cycle is on and off in turn`() {
        #expect(timeline(of: .with(.outage(.silence).when(duty(2, 3))), arrivals: "1111111111|") == "--311--311--|")
        let late = Fault.outage(.silence).when(duty(1, 2, offset: 3))
        #expect(timeline(of: .with(late), arrivals: "1111111111|") == "111-21-21-(1|)")
    }

    @Test
    func `by a duty cycle begins with the proxy's clock`() {
        var admitter = Admitter(
            Plan(
                profile: .of([.outage(.silence).when(duty(2, 2))]),
                seed: 1,
                proxy: "p",
                start: .milliseconds(3)
            )
        )
        #expect(timeline(of: admitter.accept(at: .zero).downstream, arrivals: "11111111|") == "111--31--(1|)")
    }

    @Test
    func `needs everything that a condition says`() {
        var condition = duty(2, 2)
        condition.clock = ClockWindow(from: .milliseconds(3), until: .milliseconds(9))
        // On at 0, 1, 4, 5, 8, 9, and of those from 3 to 8.
        #expect(timeline(of: .with(.outage(.silence).when(condition)), arrivals: "1111111111|") == "1111--31-2|")
        let phases = [Phase.lasting(.milliseconds(5)), .lasting(nil, .outage(.silence).when(duty(2, 2)))]
        #expect(timeline(of: .with(phases: phases), arrivals: "1111111111|") == "11111-21--(2|)")
    }

    @Test
    func `by a duty cycle interrupts a live connection when its turn comes`() {
        var admitter = Admitter.of(.of([.outage(.reset).when(duty(10, 90, offset: 50))]))
        let terminators = admitter.accept(at: .milliseconds(60)).faults.terminators
        #expect(terminators.event(at: .milliseconds(60), lastPassed: .zero) == nil)
        #expect(terminators.nextChange(after: .milliseconds(60), lastPassed: .zero) == .milliseconds(150))
        #expect(terminators.event(at: .milliseconds(150), lastPassed: .zero)?.how == .reset)
        #expect(terminators.nextChange(after: .milliseconds(150), lastPassed: .zero) == .milliseconds(160))
    }

    // MARK: Refusing

    @Test
    func `of time refuses by not listening, and says when it changes`() {
        let plan = Plan.of(.of([.outage(.refuse).when(duty(2, 8, offset: 1))]))
        #expect(plan.admission(at: .zero) == (.open, .milliseconds(1)))
        #expect(plan.admission(at: .milliseconds(1)) == (.refused(fault: 0), .milliseconds(3)))
        #expect(plan.admission(at: .milliseconds(3)) == (.open, .milliseconds(11)))
        #expect(plan.admission(at: .milliseconds(12)) == (.refused(fault: 0), .milliseconds(13)))
        let window = Plan.of(.of([.outage(.refuse).when(clock(5, 9))]))
        #expect(window.admission(at: .milliseconds(4)).until == .milliseconds(5))
        #expect(window.admission(at: .milliseconds(5)) == (.refused(fault: 0), .milliseconds(9)))
        #expect(window.admission(at: .milliseconds(9)) == (.open, .distantFuture))
    }

    @Test
    func `of time in a phase refuses in that phase alone`() {
        let phases = [
            Phase.lasting(.milliseconds(10)), .lasting(.milliseconds(10), .outage(.refuse).when(duty(4, 4))),
        ]
        let plan = Plan.of(.of([], phases: phases, repeats: true))
        let refused = (0..<40).filter { plan.admission(at: .milliseconds(Int64($0))).admission != .open }
        #expect(refused == [10, 11, 16, 17, 18, 19, 32, 33, 34, 35])
        var now = Moment.zero
        for _ in 0..<20 {
            let (admission, until) = plan.admission(at: now)
            let between = stride(from: now.nanoseconds, to: min(until.nanoseconds, 40_000_000), by: 250_000)
            #expect(between.allSatisfy { plan.admission(at: Moment(nanoseconds: $0)).admission == admission })
            now = until
        }
    }

    @Test
    func `of time comes with the other conditions, and then refuses nobody`() throws {
        var aged = duty(2, 2)
        aged.ageFrom = .milliseconds(1)
        var foreign = duty(2, 2)
        foreign.clients = [try AddressRange(parsing: "::1")]
        for condition in [aged, foreign] {
            let plan = Plan.of(.of([.outage(.refuse).when(condition)]))
            #expect(plan.admission(at: .zero) == (.open, .distantFuture))
        }
    }

    @Test
    func `of time leaves everybody without an answer, or without room, and says when it changes`() {
        let hang = Fault(name: "hang", condition: clock(5, 9), kind: .connect(Connect(how: .hang)))
        let limit = Fault(
            name: "limit",
            condition: duty(2, 8),
            kind: .connectionLimit(ConnectionLimit(limit: 1, how: .refuse))
        )
        let plan = Plan.of(.of([hang, limit]))
        let expected: [(Moment, Admission, Moment)] = [
            (.zero, .open, .milliseconds(2)), (.milliseconds(2), .open, .milliseconds(5)),
            (.milliseconds(5), .unanswered(fault: 0), .milliseconds(9)), (.milliseconds(9), .open, .milliseconds(10)),
        ]
        for (now, admission, until) in expected {
            #expect(plan.admission(at: now).admission == admission)
            #expect(plan.admission(at: now).until == until)
        }
        let rooms = [1, 2, 11].map { plan.room(for: 1, at: .milliseconds($0)) }
        #expect(rooms == [.refused(fault: 1), .free, .refused(fault: 1)])
    }

    @Test
    func `of another fault leaves everybody without an answer, or without room, once that one has acted`() {
        let after = Condition(after: "crash")
        let hang = Fault(name: "hang", condition: after, kind: .connect(Connect(how: .hang)))
        let limit = Fault(
            name: "limit",
            condition: after,
            kind: .connectionLimit(ConnectionLimit(limit: 1, how: .refuse))
        )
        for (fault, admission, room) in [
            (hang, Admission.unanswered(fault: 1), Room.free), (limit, .open, .refused(fault: 1)),
        ] {
            let plan = Plan.of(.of([crash, fault]))
            #expect(plan.admission(at: .zero).admission == .open)
            #expect(plan.room(for: 1, at: .zero) == .free)
            #expect(plan.noteEvent(of: 0))
            #expect(plan.admission(at: .zero).admission == admission)
            #expect(plan.room(for: 1, at: .zero) == room)
        }
    }

    // MARK: After

    private let crash = Fault.cut(at: 5, name: "crash").when(Condition(connections: .range(1...1)))

    private func stall(_ name: String, after: String) -> Fault {
        Fault.stall(at: 0, for: .milliseconds(3), name: name).when(Condition(after: after))
    }

    @Test
    func `by another fault waits until that one has acted, for connections accepted afterwards`() {
        var admitter = Admitter.of(.of([crash, stall("slow", after: "crash")]))
        let first = admitter.accept(at: .zero)
        let second = admitter.accept(at: .zero)
        var simulation = LinkSimulation(first.downstream, arrivals: [.init(at: .zero, bytes: 9)])
        simulation.run()
        for event in simulation.events { admitter.plan.note(event) }
        #expect(simulation.events.map(\.offset) == [5])
        #expect(timeline(of: second.downstream, arrivals: "9|") == "9|", "it was accepted before")
        #expect(timeline(of: admitter.accept(at: .zero).downstream, arrivals: "9|") == "---(9|)")
    }

    private let corruption = Fault.corrupt(.at(ByteCount(2)), name: "crash")
        .when(Condition(connections: .range(1...1)))

    @Test
    func `by a fault that changes bytes is on before they leave the link`() {
        var admitter = Admitter.of(.of([corruption, stall("slow", after: "crash")]))
        var link = admitter.accept(at: .zero).downstream
        #expect(link.bytesTaken(9, now: .zero).count == 1)
        #expect(next(admitter) == "9|")
        #expect(link.next(available: nil, now: .zero) == .send(9))
        #expect(next(admitter) == "---(9|)")
        // The event is still one that a refusal may have waited for.
        let gone = Fault.outage(.refuse, name: "gone").when(Condition(after: "crash"))
        let plan = Plan.of(.of([crash, gone]))
        plan.flags(of: [0])[0]?.set()
        #expect(plan.noteEvent(of: 0) && !plan.noteEvent(of: 0))
    }

    @Test
    func `by a fault that changes bytes follows a change of the profile`() {
        var live = LivePump(.of([corruption]))
        live.apply(.of([corruption, stall("slow", after: "crash")]))
        #expect(live.pump.link.bytesTaken(9, now: .zero).count == 1)
        #expect(live.pump.link.next(available: nil, now: .zero) == .send(9))
        #expect(next(live.admitter) == "---(9|)")
    }

    /// What the next connection makes of nine bytes.
    private func next(_ admitter: Admitter) -> String {
        var admitter = admitter
        return timeline(of: admitter.accept(at: .zero).downstream, arrivals: "9|")
    }

    @Test
    func `by another fault is not met by a third one's act, and chains are`() {
        var admitter = Admitter.of(.of([crash, stall("slow", after: "crash"), stall("slower", after: "slow")]))
        _ = admitter.accept(at: .zero)
        admitter.plan.noteEvent(of: 2)
        #expect(next(admitter) == "9|")
        admitter.plan.noteEvent(of: 1)
        #expect(next(admitter) == "---(9|)", "whoever has struck has struck")
        admitter.plan.noteEvent(of: 0)
        admitter.plan.noteEvent(of: 0)
        #expect(next(admitter) == "------(9|)")
    }

    @Test
    func `by another fault is known to every admitter of the plan, and to no other plan`() {
        let profile = Profile.of([.cut(at: 50, name: "crash"), stall("slow", after: "crash")])
        let (plan, other) = (Plan.of(profile), Admitter.of(profile))
        let admitter = Admitter(plan)
        plan.note(FaultEvent(fault: 0, offset: nil, effect: .isNoHTTP(.notHTTP)))
        #expect(next(admitter) == "9|", "that is no strike")
        plan.noteEvent(of: 0)
        #expect(next(admitter) == "---(9|)")
        #expect(next(other) == "9|")
    }

    @Test
    func `by a fault that isn't there is never on`() {
        var admitter = Admitter.of(.of([stall("slow", after: "nothing")]))
        admitter.plan.noteEvent(of: 0)
        #expect(admitter.accept(at: .zero).downstream.isTransparent)
    }

    @Test
    func `by another fault lets a refusal begin, and says so once`() {
        let gone = Fault.outage(.refuse, name: "gone").when(Condition(after: "crash"))
        let plan = Plan.of(.of([crash, stall("slow", after: "crash"), gone]))
        #expect(plan.admission(at: .zero).admission == .open)
        let others = Plan.of(.of([crash, stall("slow", after: "crash")]))
        #expect(!others.noteEvent(of: 0), "no refusal waits for it")
        #expect(!plan.noteEvent(of: 1))
        #expect(plan.noteEvent(of: 0))
        #expect(!plan.noteEvent(of: 0))
        #expect(plan.admission(at: .zero) == (.refused(fault: 2), .distantFuture))
    }
}

@Suite("A window of the clock")
struct ClockWindowTests {
    @Test
    func `changes exactly when it says so, whatever it is made of`() {
        var generator = SeededGenerator(seed: 5)
        func random(_ limit: UInt64) -> Int64 { Int64(generator.next() % limit) }
        for _ in 0..<300 {
            let from = Duration.nanoseconds(random(40))
            let age = Duration.nanoseconds(random(30))
            let condition = Condition(
                ageFrom: random(2) == 0 ? .zero : age,
                ageUntil: random(2) == 0 ? nil : age + .nanoseconds(1 + random(40)),
                clock: random(2) == 0 ? nil : ClockWindow(from: from, until: from + .nanoseconds(1 + random(50))),
                duty: DutyCycle(
                    on: .nanoseconds(1 + random(7)),
                    off: .nanoseconds(1 + random(7)),
                    offset: .nanoseconds(random(9))
                )
            )
            let window = Window(condition, phase: nil, start: Moment(nanoseconds: random(20)))
            let opened = Moment(nanoseconds: random(20))
            let states = (0..<200 as Range<Int64>).map { now in
                window.contains(at: Moment(nanoseconds: now), age: now - opened.nanoseconds, currentPhase: nil)
            }
            for now in Int(opened.nanoseconds)..<100 {
                let next = window.nextChange(
                    after: Moment(nanoseconds: Int64(now)),
                    opened: opened,
                    interval: .until(.distantFuture)
                )
                let isSteady = states[now..<Int(min(next.nanoseconds, 200))].allSatisfy { $0 == states[now] }
                #expect(next.nanoseconds > now && isSteady, "\(window), opened at \(opened), at \(now)")
            }
        }
    }

    @Test
    func `is right to the end of the clock`() {
        let long = Duration.nanoseconds(Int64.max)
        let window = Window(Condition(duty: DutyCycle(on: long, off: long)), phase: nil, start: .seconds(1))
        #expect(window.contains(at: .seconds(1), age: 0, currentPhase: nil))
        #expect(!window.contains(at: .zero, age: 0, currentPhase: nil))
        #expect(window.nextChange(after: .zero, opened: .zero, interval: .until(.distantFuture)) == .seconds(1))
        #expect(
            window.nextChange(after: .seconds(2), opened: .zero, interval: .until(.distantFuture)) == .distantFuture
        )
        let last = Moment(nanoseconds: .max - 1)
        let short = Window(
            Condition(duty: DutyCycle(on: .nanoseconds(1), off: .nanoseconds(2))),
            phase: nil,
            start: Moment(nanoseconds: .min)
        )
        #expect(short.nextChange(after: last, opened: .zero, interval: .until(.distantFuture)) == .distantFuture)
    }
}
