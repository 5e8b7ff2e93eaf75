import FaultPlan
import FaultProfile
import Forecast
import Testing
import Units

@Suite("A forecast with triggers")
struct TriggerForecastTests {
    @Test
    func `lets come what comes after a fault event, on the next connection`() throws {
        let text = """
            { "name": "x", "faults": [
                { "kind": "cut", "name": "crash", "stream": "downstream", "at": "1100 B", "when": { "connection": 1 } },
                { "kind": "stall", "name": "slow", "stream": "downstream", "for": "2 s", "when": { "after": "crash" } } ] }
            """
        let forecast = try forecast(text, bytes: 5_000)
        #expect(forecast.outcome == .complete && forecast.connections == 2 && forecast.cuts == 1)
        #expect(forecast.faultCounts.map(\.fault) == ["crash resets", "slow stalls"])
        #expect(forecast.faultCounts.map(\.count) == [1, 1])
        #expect(forecast.duration == .milliseconds(2_100), "100 ms until the client comes back, then the stall")
    }

    @Test
    func `lets a refusal come after a fault event`() throws {
        let text = """
            { "name": "x", "faults": [
                { "kind": "cut", "name": "crash", "stream": "downstream", "at": "1100 B" },
                { "kind": "outage", "how": "refuse", "when": { "after": "crash" } } ] }
            """
        let forecast = try forecast(text, bytes: 5_000)
        #expect(forecast.outcome == .givesUp && forecast.connections == 1 && forecast.refusals == 9)
    }

    /// The refusal is over before a second client comes.
    @Test(arguments: ["refuse", "hang"])
    func `lets come what comes after a refusal or a hang that no client meets`(how: String) throws {
        let text = """
            { "name": "x", "faults": [
                { "kind": "connect", "name": "gone", "how": "\(how)", "when": { "clock": "1 s..1.3 s" } },
                { "kind": "stall", "stream": "downstream", "at": "100 KB", "for": "2 s", "when": { "connection": 1 } },
                { "kind": "cut", "stream": "downstream", "at": "200 KB", "when": { "connection": 1 } },
                { "kind": "bandwidth", "stream": "downstream", "rate": "200 KB/s", "when": { "after": "gone" } } ] }
            """
        let forecast = try forecast(text, bytes: 600_000)
        #expect(forecast.outcome == .complete && forecast.connections == 2 && forecast.refusals == 0)
        // The stall, the wait of the client, and 400 KB.
        #expect(abs(Double(forecast.duration.nanoseconds) / 1e9 - 4.1) < 0.02, "\(forecast.duration)")
    }

    @Test
    func `counts a refusal each time that it begins, also while the client waits`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "cut", "stream": "downstream", "at": "1100 B", "when": { "connection": 1 } },
                { "kind": "connect", "how": "refuse", "when": { "clock": "..1 s", "duty": { "on": "100 ms", "off": "200 ms" } } } ] }
            """
        let forecast = try forecast(text, bytes: 5_000, retries: SteadyRetries(wait: .milliseconds(2_050)))
        #expect(forecast.outcome == .complete && forecast.refusals == 1)
        #expect(forecast.faultCounts.first { $0.fault == "connect refuses" }?.count == 4)
    }

    @Test
    func `meets every turn of a duty cycle, however short and late`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "bandwidth", "stream": "downstream", "rate": "1 MB/s" },
                { "kind": "outage", "how": "silence", "when": { "duty": { "on": "20 ms", "off": "60 ms" } } } ] }
            """
        let forecast = try forecast(text, bytes: 30_000_000)
        let seconds = Double(forecast.duration.nanoseconds) / 1e9
        #expect(forecast.outcome == .complete && abs(seconds - 40) < 0.8, "30 s of rate took \(seconds) s")
    }

    @Test
    func `goes by the port of the server, if it is told one`() throws {
        let text = """
            { "name": "x", "faults": [
                { "kind": "latency", "delay": "100 ms", "when": { "port": [443, "8000.."] } } ] }
            """
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let ports: [UInt16?] = [443, 80, nil]
        let reports = ports.map { port in
            var client = ClientModel()
            client.facts = ConnectionFacts(port: port)
            let transfer = Transfer(direction: .downstream, bytes: ByteCount(100))
            let plan = Plan(profile: profile, seed: 1, proxy: "p", start: .zero)
            let forecast = TransferForecast(of: transfer, through: plan, client: client, retries: SteadyRetries())
            return PlanReport(profile: profile, seed: 1, transfer: transfer, client: client, forecast: forecast)
        }
        #expect(reports.map(\.forecast.duration) == [.milliseconds(200), .zero, .zero])
        #expect(reports.map { $0.assumptions.contains("no faults for ports") } == [false, false, true])
        #expect(reports[0].profile.faults[0].condition.sentence == "to port 443 and 8000..")
    }

    /// A client that waits, unless its next request is a different one.
    private struct Patient: RetryModel {
        func reached(_ offset: Int64) {}
        func failed(at now: Moment, isImmediate: Bool, answer: HTTPAnswer?) -> Duration? {
            isImmediate ? .zero : .seconds(1_000)
        }
    }

    @Test
    func `has a client whose range only repeated what it had ask again at once`() throws {
        let text = """
            { "name": "x", "faults": [
                { "kind": "cut", "stream": "downstream", "every": "100 KB", "of": "resource" } ] }
            """
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let plan = Plan(profile: profile, seed: 1, proxy: "p", start: .zero)
        var client = ClientModel()
        client.overlapLimit = 1_024
        let transfer = Transfer(direction: .downstream, bytes: ByteCount(1_000_000))
        let forecast = TransferForecast(of: transfer, through: plan, client: client, retries: Patient())
        // Each second connection repeats the end alone, up to the same cut.
        let waits = forecast.duration.nanoseconds / 1_000_000_000_000
        #expect(forecast.outcome == .complete && waits > 0 && 2 * waits <= forecast.connections + 1, "\(forecast)")
    }

    /// A fault, what the forecast lacks for it, and the accuracy in percent, if it has one.
    @Test(
        arguments: [
            (#""kind": "latency", "delay": "1 ms""#, "real network; within 3 %", 3),
            (#""kind": "loss", "rate": "1 %", "rtt": "5 ms""#, "; within 10 % where loss acts", 10),
            (#""kind": "latency", "delay": "1 ms", "when": { "http": { "method": "GET" } }"#, "; within 3 %", 3),
            (#""kind": "connection-limit", "limit": 1"#, "no connection limit", nil),
            (#""kind": "tls", "certificate": "expired""#, "no faults of TLS", nil),
            (#""kind": "stall", "for": "1 s", "when": { "host": "a" }"#, "no faults for hosts", nil),
            (#""kind": "stall", "for": "1 s", "when": { "http": { "path": "/b" } }"#, "requests for “/”", nil),
            (#""kind": "stall", "for": "1 s", "when": { "http": { "header": { "A": "b" } } }"#, "for “/”", nil),
            (#""kind": "cut", "stream": "downstream", "pattern": "a""#, "no patterns in the bytes", nil),
            (#""kind": "corrupt", "at": "1 B""#, "starts over for changed bytes", nil),
            (#""kind": "truncate", "bytes": "1 B""#, "starts over for changed bytes", nil),
            (#""kind": "insert", "at": "1 B", "bytes": "a""#, "starts over for changed bytes", nil),
            (#""kind": "http", "answer": { "status": 200 }"#, "no answer of a fault in place of the file", nil),
            (#""kind": "cut", "at": "0 B", "when": { "connection": 1 }"#, "waits between attempts", nil),
        ] as [(String, String, Int?)]
    )
    func `tells what it can't know, and then no accuracy`(fault: String, assumption: String, tolerance: Int?) throws {
        let text = "{ \"name\": \"x\", \"faults\": [ { \(fault) } ] }"
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let transfer = Transfer(direction: .downstream, bytes: ByteCount(100))
        let plan = Plan(profile: profile, seed: 1, proxy: "p", start: .zero)
        let client = ClientModel()
        let forecast = TransferForecast(of: transfer, through: plan, client: client, retries: SteadyRetries())
        let report = PlanReport(profile: profile, seed: 1, transfer: transfer, client: client, forecast: forecast)
        #expect(report.assumptions.contains(assumption), "\(report.assumptions)")
        #expect(report.assumptions.contains("within") == (tolerance != nil))
        #expect(report.tolerance == tolerance)
    }

    @Test
    func `of an upload that waits for its URL names the server that sends it, with its accuracy`() throws {
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: #"{ "name": "x" }"#))
        for (direction, wait, isNamed) in [
            (Direction.upstream, Duration.milliseconds(500), true), (.upstream, .zero, false),
            (.downstream, .milliseconds(500), false),
        ] {
            var client = ClientModel()
            client.contentWait = wait
            let transfer = Transfer(direction: direction, bytes: ByteCount(100))
            let plan = Plan(profile: profile, seed: 1, proxy: "p", start: .zero)
            let forecast = TransferForecast(of: transfer, through: plan, client: client, retries: SteadyRetries())
            let report = PlanReport(profile: profile, seed: 1, transfer: transfer, client: client, forecast: forecast)
            let text = "a server that names the upload's URL at once, "
            #expect(report.assumptions.contains(text) == isNamed, "\(report.assumptions)")
            #expect(report.tolerance == 3)
        }
    }

    @Test
    func `goes by the address of its client, if it is told one`() throws {
        let text = """
            { "name": "x", "faults": [
                { "kind": "latency", "delay": "100 ms", "when": { "client": "10.0.0.0/8" } } ] }
            """
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let durations = ["10.1.2.3", "192.0.2.7", nil].map { address in
            var client = ClientModel()
            client.facts = ConnectionFacts(client: address)
            return TransferForecast(
                of: Transfer(direction: .downstream, bytes: ByteCount(100)),
                through: Plan(profile: profile, seed: 1, proxy: "p", start: .zero),
                client: client,
                retries: SteadyRetries()
            ).duration
        }
        #expect(durations == [.milliseconds(200), .zero, .zero])
    }

    @Test
    func `draws what the proxy's clock turns on and off`() throws {
        let text = """
            { "name": "x", "faults": [
                { "kind": "outage", "how": "reset", "when": { "duty": { "on": "2 s", "off": "3 s", "offset": "1 s" } } },
                { "kind": "bandwidth", "rate": "1 Mbit/s", "when": { "clock": "..4 s" } } ] }
            """
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let timeline = NetworkTimeline(of: profile, direction: .downstream, until: .zero + .seconds(10))
        #expect(timeline.segments.map(\.begin) == [0, 1, 3, 4, 6, 8].map { .zero + .seconds($0) })
        #expect(timeline.segments.map { $0.conditions.outage != nil } == [false, true, false, false, true, false])
        #expect(timeline.segments.map { $0.conditions.rate != nil } == [true, true, true, false, false, false])
        let always = NetworkConditions(faults: profile.faults, direction: .downstream)
        #expect(always.others == ["outage by reset, 2 s on and 3 s off", "bandwidth 1 Mbit/s, until 4 s"])
    }

    @Test
    func `names its triggers, and the faults that have no figures`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "loss", "rate": "2 %", "rtt": "50 ms" },
                { "kind": "slice", "size": "100 B" },
                { "kind": "latency", "delay": "1 s",
                  "when": { "client": ["::1", "10.0.0.0/8"], "clock": "1 s..2 s", "after": "slice" } } ] }
            """
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let conditions = NetworkConditions(faults: profile.faults, direction: .downstream)
        #expect(
            conditions.others == [
                "loss 2 %, round trip 50 ms, cubic", "slice 100 B",
                "latency 1 s, for ::1 and 10.0.0.0/8, from 1 s on, until 2 s, after slice",
            ]
        )
    }

    @Test
    func `has the phases of its seed where they vary`() throws {
        let text = """
            { "name": "x", "repeat": true, "phases": [ { "name": "a", "for": "2 s", "jitter": "1 s" },
                { "name": "b", "for": "1 s", "faults": [ { "kind": "outage", "how": "silence" } ] } ] }
            """
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let schedule = Schedule(phases: profile.phases, repeats: true, start: .zero, seed: 9)
        let timeline = NetworkTimeline(of: profile, direction: .downstream, until: .zero + .seconds(60), seed: 9)
        #expect(timeline.segments.dropLast().allSatisfy { schedule.interval(at: $0.begin).end == $0.end })
        #expect(timeline.segments.count == 40)
    }
}
