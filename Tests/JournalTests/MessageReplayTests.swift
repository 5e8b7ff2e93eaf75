import FaultPlan
import FaultProfile
import Journal
import SimulatedLink
import Testing
import Units

@Suite("A replay of faults in messages of HTTP")
struct MessageReplayTests {
    private func profile(_ fault: String) throws -> Profile {
        let text = #"{ "name": "x", "faults": [ \#(fault) ] }"#
        return try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
    }

    /// What the journal tells of a request that is answered by 100 bytes of 103, 100 of 104 and 1,000 of 200, and how
    /// many bytes of them all arrive.
    private func journal(_ profile: Profile) -> (events: [RecordedFaultEvent], delivered: Int64) {
        var admitter = Admitter(Plan(profile: profile, seed: 3, proxy: "p", start: .zero))
        let connection = admitter.accept(at: .zero)
        var link = connection.downstream
        for (status, range) in [(103, 0..<100), (104, 100..<200), (200, 200..<1_200)] as [(Int, Range<Int64>)] {
            let message = Message(request: 1, method: "GET", target: "/file", status: status)
            link.note(.message(message, at: range.lowerBound))
            link.note(.end(at: range.upperBound))
        }
        let arrival = LinkSimulation.Arrival(at: .zero, bytes: 1_200, end: .finish)
        var simulation = LinkSimulation(link, arrivals: [arrival])
        simulation.run()
        let events = simulation.events.map { event in
            RecordedFaultEvent(
                proxy: "p",
                connection: connection.ordinal,
                direction: .downstream,
                fault: admitter.plan.faults[event.fault].name,
                offset: event.offset,
                base: event.place?.base ?? .connection,
                request: event.place?.request,
                what: event.effect.word
            )
        }
        return (events, simulation.link.delivered)
    }

    @Test(arguments: [("103", 50), (#""1xx""#, 50), (#""103..299""#, 50), ("104", 150), ("200", 250)])
    func `re-injects into the response of the status that was meant, not the final one of its number`(
        status: String,
        delivered: Int64
    ) throws {
        let profile = try profile(
            """
            { "kind": "cut", "stream": "downstream", "at": "50 B", "of": "message",
              "when": { "http": { "status": \(status), "method": "GET" } } }
            """
        )
        let first = journal(profile)
        #expect(first.events.map(\.offset) == [50])
        #expect(first.delivered == delivered)
        let again = journal(ReplayPlan(profile: profile, seed: 3, events: first.events).everything)
        #expect(again.events == first.events)
        #expect(again.delivered == delivered)
    }

    @Test func `re-injects into the final response where no status was meant`() throws {
        let profile = try profile(#"{ "kind": "cut", "stream": "downstream", "at": "50 B", "of": "message" }"#)
        let replayed = ReplayPlan(profile: profile, seed: 3, events: journal(profile).events).everything
        #expect(journal(replayed).delivered == 250)
        #expect(replayed.faults.map(\.condition.http) == [HTTPCondition(requests: .range(1...1))])
    }

    @Test(arguments: ["", #", "chance": "99.9 %""#])
    func `ends a truncation of the connection's bytes with the message that it was narrowed to`(chance: String) throws {
        let profile = try profile(
            """
            { "kind": "truncate", "stream": "downstream", "at": "120 B", "bytes": "1 GiB",
              "when": { "http": { "status": 104 \(chance) } } }
            """
        )
        let first = journal(profile)
        #expect(first.events.map(\.offset) == [120])
        #expect(first.delivered == 1_200 - 80)
        let again = journal(ReplayPlan(profile: profile, seed: 3, events: first.events).everything)
        #expect(again.events == first.events && again.delivered == first.delivered)
    }
}
