import FaultPlan
import FaultProfile
import Forecast
import Testing
import Units

@Suite("A forecast of connection faults")
struct ConnectionFaultTests {
    private func fault(_ fault: String) -> String { "{ \"name\": \"x\", \"faults\": [ { \(fault) } ] }" }

    @Test
    func `starts later by a delay of connecting`() throws {
        let forecast = try forecast(fault(#""kind": "connect", "how": "delay", "for": "3 s""#), bytes: 1_000)
        #expect(forecast.outcome == .complete && forecast.duration == .seconds(3))
        #expect(forecast.faultCounts.map(\.fault) == ["connect connects late"])
    }

    @Test
    func `counts what is put in, and is complete with as many bytes as were announced`() throws {
        // The client takes as much less of the content, so what was put in costs no time of its own.
        let inserted = String(repeating: "x", count: 4_096)
        let text = """
            { "name": "x", "faults": [
                { "kind": "bandwidth", "stream": "downstream", "rate": "10 kB/s" },
                { "kind": "insert", "stream": "downstream", "at": "1 KB", "bytes": "\(inserted)" } ] }
            """
        let plain = try forecast(
            fault(#""kind": "bandwidth", "stream": "downstream", "rate": "10 kB/s""#),
            bytes: 20_000
        )
        let forecast = try forecast(text, bytes: 20_000)
        #expect(forecast.outcome == .complete && forecast.connections == 1)
        #expect((forecast.duration - plain.duration).nanoseconds.magnitude < 5_000_000)
        #expect(forecast.faultCounts.map(\.fault) == ["bandwidth limits", "insert inserts"])
    }

    @Test
    func `has the answer of a fault go the way of the server's`() throws {
        // The request takes 0.3 s, the answer as long and what the rate makes of its head; its content isn't waited for.
        let body = String(repeating: "x", count: 5_000)
        let text = """
            { "name": "x", "faults": [
                { "kind": "latency", "delay": "300 ms" },
                { "kind": "bandwidth", "stream": "downstream", "rate": "10 kB/s" },
                { "kind": "http", "answer": { "status": 503, "body": "\(body)" }, "when": { "connection": "1..2" } } ] }
            """
        let forecast = try forecast(text, bytes: 1_000, retries: SteadyRetries(wait: .seconds(1)))
        #expect(forecast.outcome == .complete && forecast.connections == 3)
        let content = Duration.milliseconds(110)
        let heads = forecast.duration - .milliseconds(3 * 600 + 2 * 1_000) - content
        #expect(heads >= .zero && heads < .milliseconds(40))
        #expect(forecast.faultCounts.filter { $0.fault == "http answers" }.map(\.count) == [2])
    }

    @Test
    func `asks for the rest once the server has ended a stream that lacks bytes`() throws {
        // The server closes each connection after its answer, whose end passes a truncation and a discarding fault.
        let losses = [
            (#""kind": "truncate", "stream": "downstream", "at": "600 B", "bytes": "100 B""#, Int64(900)),
            (#""kind": "discard", "stream": "downstream""#, 0),
        ]
        for (loss, offset) in losses {
            let forecast = try forecast(fault(loss + #", "when": { "connection": 1 }"#), bytes: 1_000)
            #expect(forecast.outcome == .complete && forecast.connections == 2)
            #expect(forecast.events.contains { $0.kind == .lost(connection: 1, offset: offset, .cut) })
            #expect(forecast.duration == .milliseconds(100))
        }
    }

    @Test
    func `hands the client the answer of a fault, and no other one`() throws {
        struct Noting: RetryModel {
            func reached(_ offset: Int64) {}
            func failed(at now: Moment, isImmediate: Bool, answer: HTTPAnswer?) -> Duration? {
                answer.flatMap { $0.status == 503 ? .seconds(Int64($0.fields.first?.value ?? "") ?? 0) : nil }
            }
        }
        func outcome(_ faults: String) throws -> TransferForecast {
            let source = ProfileSource(file: "p.json", text: "{ \"name\": \"x\", \"faults\": [ \(faults) ] }")
            let plan = Plan(profile: try ProfileReader.profile(from: source), seed: 1, proxy: "p", start: .zero)
            let transfer = Transfer(direction: .downstream, bytes: ByteCount(1_000))
            return TransferForecast(of: transfer, through: plan, retries: Noting())
        }
        let busy = """
            { "kind": "http", "answer": { "status": 503, "header": { "Retry-After": "4" } }, "when": { "connection": 1 } }
            """
        let retried = try outcome(busy)
        #expect(retried.outcome == .complete && retried.duration == .seconds(4) && retried.waits == 1)
        let missing = busy.replacing("503", with: "404")
        #expect(try outcome(missing).outcome == .givesUp && outcome(missing).connections == 1)
        // An answer that doesn't arrive is none.
        let cut = busy + #", { "kind": "cut", "stream": "downstream", "at": "9 B", "when": { "connection": 1 } }"#
        #expect(try outcome(cut).outcome == .givesUp)
    }

    @Test
    func `waits for the client's limit where nobody answers`() throws {
        let text = fault(#""kind": "connect", "how": "hang""#)
        let forecast = try forecast(text, bytes: 1_000, retries: SteadyRetries(wait: .seconds(1), attempts: 3))
        #expect(forecast.outcome == .givesUp && forecast.connections == 0)
        #expect(forecast.timeouts == 3 && forecast.refusals == 0)
        #expect(forecast.duration == .seconds(32))
        #expect(forecast.faultCounts.map(\.fault) == ["connect hangs"] && forecast.faultCounts.first?.count == 1)
    }

    @Test(arguments: [("1500 ms", 2), ("4500 ms", 5), ("5500 ms", 7)])
    func `is answered at the first packet behind a hang`(time: String, seconds: Int) throws {
        let text = """
            { "name": "x", "phases": [
                { "name": "away", "for": "\(time)", "faults": [ { "kind": "connect", "how": "hang" } ] },
                { "name": "back" } ] }
            """
        let forecast = try forecast(text, bytes: 1_000)
        #expect(forecast.outcome == .complete && forecast.connections == 1)
        #expect(forecast.duration == .seconds(seconds))
    }

    @Test
    func `gives up connecting where nobody answers when it asks`() throws {
        // Packets at 0, 1, 2, 3, 4, 5 and 7 s find nobody; the next would come at 11 s.
        let text = fault(#""kind": "connect", "how": "hang", "when": { "duty": { "on": "900 ms", "off": "100 ms" } }"#)
        let forecast = try forecast(text, bytes: 1_000, retries: SteadyRetries(wait: .seconds(1), attempts: 1))
        #expect(forecast.outcome == .givesUp && forecast.timeouts == 1)
        #expect(forecast.duration == .seconds(10))
    }

    @Test(arguments: [
        #""kind": "connect", "how": "delay", "for": "40 s""#,
        #""kind": "loss", "rate": "99.99 %", "rtt": "50 ms""#,
    ])
    func `gives up a connection that is made later than it waits`(late: String) throws {
        let forecast = try forecast(fault(late), bytes: 1_000, retries: SteadyRetries(attempts: 1), stepLimit: 1_000)
        #expect(forecast.outcome == .givesUp && forecast.timeouts == 1)
        #expect(forecast.duration == .seconds(30))
    }

    @Test
    func `leaves a picked connection hanging until its time, and delays it then`() throws {
        let text = """
            { "name": "x", "faults": [
                { "kind": "connect", "how": "hang", "when": { "connection": 1, "age": "..4 s" } },
                { "kind": "connect", "name": "late", "how": "delay", "for": "2 s" } ] }
            """
        let forecast = try forecast(text, bytes: 1_000)
        #expect(forecast.outcome == .complete && forecast.duration == .seconds(6))
        #expect(forecast.faultCounts.map(\.fault).contains("connect hangs"))
    }

    @Test
    func `gives a connection that hangs up after the time to the first byte`() throws {
        let text = fault(#""kind": "connect", "how": "hang", "when": { "connection": 1 }"#)
        let forecast = try forecast(text, bytes: 1_000)
        #expect(forecast.outcome == .complete && forecast.connections == 2 && forecast.timeouts == 1)
        #expect(forecast.duration == .seconds(30) + .milliseconds(100))
    }

    @Test(arguments: [("refuse", "connect resets"), ("close", "connect closes")])
    func `tries again where connections are ended at once`(how: String, event: String) throws {
        let text = fault("\"kind\": \"connect\", \"how\": \"\(how)\", \"when\": { \"connection\": \"1..2\" }")
        let forecast = try forecast(text, bytes: 1_000)
        #expect(forecast.outcome == .complete && forecast.connections == 3)
        #expect(forecast.duration == .milliseconds(200))
        #expect(forecast.faultCounts.map(\.fault) == [event])
    }

    @Test
    func `loses a connection by its age when the silence that holds the end is over`() throws {
        let text = """
            { "name": "x", "faults": [
                { "kind": "bandwidth", "stream": "downstream", "rate": "10 kB/s" },
                { "kind": "outage", "how": "silence", "when": { "clock": "1 s..8 s" } },
                { "kind": "cut", "after": "4 s", "when": { "connection": 1 } } ] }
            """
        let lost = try forecast(text, bytes: 30_000).events.filter { event in
            if case .lost = event.kind { true } else { false }
        }
        #expect(lost.map(\.moment) == [Moment(nanoseconds: 8_000_000_000)])
    }

    @Test
    func `gives a silent connection up as the client does`() throws {
        let silences = [
            #""kind": "cut", "stream": "downstream", "at": "600 B", "how": "silence", "when": { "connection": 1 }"#,
            #""kind": "half-open", "stream": "downstream", "at": "600 B", "when": { "connection": 1 }"#,
        ]
        for silence in silences {
            let forecast = try forecast(fault(silence), bytes: 1_000)
            #expect(forecast.outcome == .complete && forecast.connections == 2)
            #expect(forecast.timeouts == 1 && forecast.cuts == 0)
            let lost = forecast.events.first { $0.kind == .lost(connection: 1, offset: 500, .stalled) }
            #expect(lost != nil)
            #expect(forecast.duration >= .seconds(15) && forecast.duration < .seconds(20))
        }
        let byAge = fault(#""kind": "cut", "after": "1 ms", "how": "silence", "when": { "connection": 1 }"#)
        let stalled = byAge.replacing("] }", with: ", { \"kind\": \"latency\", \"delay\": \"1 s\" } ] }")
        let forecast = try forecast(stalled, bytes: 1_000)
        #expect(forecast.timeouts == 1 && forecast.outcome == .complete)
    }

    @Test
    func `of a limit is that of one connection after the other`() throws {
        let text = fault(#""kind": "connection-limit", "limit": 1, "how": "hang""#)
        #expect(try forecast(text, bytes: 1_000).outcome == .complete)
    }

    @Test
    func `doesn't wait for an end that comes late`() throws {
        let text = fault(#""kind": "slow-close", "by": "9 s""#)
        #expect(try forecast(text, bytes: 1_000).duration == .zero)
    }
}
