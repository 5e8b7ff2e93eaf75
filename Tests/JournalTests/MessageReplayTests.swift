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

    /// A response on the connection, whose head has 30 bytes.
    private struct Response {
        var request: Int64 = 1
        var status = 200
        let range: Range<Int64>
    }

    /// A request that is answered by 100 bytes of 103, 100 of 104 and 1,000 of 200.
    private static let informed = [
        Response(status: 103, range: 0..<100), Response(status: 104, range: 100..<200), Response(range: 200..<1_200),
    ]

    /// What the journal tells of the responses of a connection, and how many of their bytes arrive.
    private func journal(
        _ profile: Profile,
        _ responses: [Response] = MessageReplayTests.informed
    ) -> (events: [RecordedFaultEvent], delivered: Int64) {
        var admitter = Admitter(Plan(profile: profile, seed: 3, proxy: "p", start: .zero))
        let connection = admitter.accept(at: .zero)
        var link = connection.downstream
        for response in responses {
            let (request, range) = (response.request, response.range)
            let message = Message(request: request, method: "GET", target: "/file", status: response.status)
            link.note(.message(message, at: range.lowerBound))
            link.note(.body(offset: 0, at: range.lowerBound + 30, count: Int64(range.count) - 30))
            link.note(.end(at: range.upperBound))
        }
        let bytes = responses.last?.range.upperBound ?? 0
        let arrival = LinkSimulation.Arrival(at: .zero, bytes: bytes, end: .finish)
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

    @Test(
        arguments: [
            (#""at": "290 B", "of": "body""#, [290, 290, 290]), (#""at": "320 B", "of": "message""#, [320, 320, 320]),
            (#""at": "290 B", "of": "body", "when": { "http": { "path": "/file" } }"#, [290, 290, 290]),
            (#""at": "320 B", "when": { "http": { "path": "/file" } }"#, [320]),
        ] as [(String, [Int64])]
    )
    func `a truncation ends with its message, in the run and in the replay`(fault: String, offsets: [Int64]) throws {
        let profile = try profile(#"{ "kind": "truncate", "stream": "downstream", "bytes": "30 B", \#(fault) }"#)
        let responses = (1...3).map { Response(request: $0, range: ($0 - 1) * 330..<$0 * 330) }
        let first = journal(profile, responses)
        #expect(first.events.map(\.offset) == offsets)
        #expect(first.delivered == 990 - 10 * Int64(offsets.count))
        let again = journal(ReplayPlan(profile: profile, seed: 3, events: first.events).everything, responses)
        #expect(again.events == first.events && again.delivered == first.delivered)
    }
}
