import FaultPlan
import FaultProfile
import Testing
import Units

@Suite("A tls fault")
struct TLSTests {
    private static func fault(_ tls: TLSFault, name: String = "tls") -> Fault { Fault(name: name, kind: .tls(tls)) }

    private func faults(of plan: ConnectionPlan) -> [TLSFault] {
        var found: [TLSFault] = []
        _ = plan.faults.handshake.first { tls -> Void? in
            found.append(tls)
            return nil
        }
        return found
    }

    @Test func `is on the layer of the content alone, and on no link`() throws {
        var admitter = Admitter.of(.of([Self.fault(.certificate(.expired))]))
        let wire = admitter.accept(at: .zero, ConnectionFacts(), .always)
        let content = try #require(wire.content).plan
        #expect(faults(of: wire) == [])
        #expect(faults(of: content) == [.certificate(.expired)])
        #expect(content.upstream.isTransparent && content.downstream.isTransparent)
        #expect(!content.faults.terminators.arePossible && content.faults.hold == nil)
    }

    @Test func `ends the content by an alert at its offset, of connections with TLS that it has met from the start`()
        throws
    {
        let alert = try #require(TLSAlertName(number: 42))
        let fault = Self.fault(.alert(alert, at: ByteCount(5)))
        var admitter = Admitter.of(.of([fault]))
        #expect(admitter.accept(at: .zero).downstream.isTransparent)
        let content = try #require(admitter.accept(at: .zero, ConnectionFacts(), .always).content).plan
        #expect(faults(of: content) == [.alert(alert, at: ByteCount(5))])
        #expect(content.upstream.isTransparent)
        var link = content.downstream
        link.begin(at: .zero)
        #expect(link.next(available: 100, canSend: true, now: .zero) == .receive(5))
        link.bytesArrived(5)
        #expect(link.next(available: 95, canSend: true, now: .zero) == .send(5))
        link.bytesDelivered(5)
        #expect(link.next(available: 95, canSend: true, now: .zero) == .end(.alert(alert)))
        #expect(link.takeEvents().map(\.offset) == [5])
        // A live connection has no session that could send one.
        var later = Admitter.of(.of([]))
        let live = try #require(later.accept(at: .zero, ConnectionFacts(), .always).content).plan
        let change = later.apply(.of([fault]))
        let update = change.update(connection: live.ordinal, opened: .zero, on: .content)
        #expect(update.isEmpty)
    }

    @Test func `is in the content's plan of a client that may turn out to speak TLS, and no turn is lost`() throws {
        let cut = Fault(
            name: "cut",
            stream: .downstream,
            kind: .cut(Cut(position: .inTurn([ByteCount(5), ByteCount(9)]), how: .close))
        )
        let delay = Fault(name: "delay", stream: .both, kind: .latency(Latency(delay: .seconds(1))))
        var admitter = Admitter.of(.of([cut, delay, Self.fault(.alpn(nil))]))
        for offset in [Int64(5), 9] {
            let plan = admitter.accept(at: .zero, ConnectionFacts(), .perhaps)
            let content = try #require(plan.content).plan
            #expect(faults(of: content) == [.alpn(nil)])
            // The delay is the wire's.
            for (planned, isDelayed) in [(plan.downstream, true), (content.downstream, false)] {
                var link = planned
                link.begin(at: .zero)
                #expect(link.next(available: 100, canSend: true, now: .zero) == .receive(offset))
                link.bytesArrived(offset)
                let step = link.next(available: nil, canSend: true, now: .zero)
                #expect(step == (isDelayed ? .wait(until: .seconds(1)) : .send(offset)))
            }
        }
        // The list has no third turn.
        let last = admitter.accept(at: .zero, ConnectionFacts(), .perhaps)
        #expect(last.ordinal == 3)
        #expect(try #require(last.content).plan.downstream.isTransparent)
    }

    @Test func `acts on connections that its conditions pick, accepted while it is on`() {
        let phases = [
            Phase.lasting(.seconds(2), Self.fault(.alpn(nil)), name: "bad"), .lasting(nil, name: "good"),
        ]
        var phased = Admitter.of(.of([], phases: phases))
        #expect(faults(of: phased.accept(at: .seconds(1))) == [.alpn(nil)])
        #expect(faults(of: phased.accept(at: .seconds(2))) == [])
        let third = Self.fault(.version(.tls12)).when(Condition(connections: .range(3...3)))
        var picked = Admitter.of(.of([third]))
        #expect((1...4).map { _ in faults(of: picked.accept(at: .zero)).count } == [0, 0, 1, 0])
    }

    @Test func `has an event with its effect, and the first of two alike is taken`() throws {
        let effects: [(TLSFault, FaultEvent.Effect)] = [
            (.certificate(.untrusted), .presents), (.alert(try #require(TLSAlertName(number: 40))), .alerts),
            (.reply([1]), .answers), (.stall(.finished, for: .seconds(1)), .stalls), (.alpn("h2"), .negotiates),
            (.version(.tls13), .negotiates), (.record(ByteCount(9)), .slices),
        ]
        for (tls, effect) in effects {
            var admitter = Admitter.of(.of([Self.fault(.version(.tls12), name: "other"), Self.fault(tls)]))
            let handshake = admitter.accept(at: .zero).faults.handshake
            let (entry, _) = try #require(handshake.first { $0 == tls ? $0 : nil })
            #expect(entry.event == FaultEvent(fault: 1, offset: nil, effect: effect))
        }
        var admitter = Admitter.of(.of([Self.fault(.alpn("a")), Self.fault(.alpn("b"), name: "later")]))
        let handshake = admitter.accept(at: .zero).faults.handshake
        let taken = handshake.first { if case .alpn(let name) = $0 { name } else { nil } }
        #expect(taken?.value == "a" && taken?.entry.fault == 0)
    }

    @Test func `that comes while a connection lives doesn't concern it`() {
        var admitter = Admitter.of(.of([]))
        let before = admitter.accept(at: .zero)
        _ = admitter.apply(.of([Self.fault(.alpn(nil))]))
        #expect(faults(of: before) == [])
        #expect(faults(of: admitter.accept(at: .zero)) == [.alpn(nil)])
    }

    @Test func `names alerts as the registry does`() throws {
        #expect(TLSAlertName(rawValue: "unknown_ca")?.number == 48)
        #expect(TLSAlertName(number: 120)?.rawValue == "no_application_protocol")
        #expect(TLSAlertName(number: 1) == nil && TLSAlertName(rawValue: "x") == nil)
        #expect(Set(TLSAlertName.allCases.map(\.number)).count == TLSAlertName.allCases.count)
    }
}
