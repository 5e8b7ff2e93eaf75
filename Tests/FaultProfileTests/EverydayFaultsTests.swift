import Testing
import Units

@testable import FaultProfile

@Suite struct EverydayFaultsTests {
    private func all() throws -> EverydayFaults {
        EverydayFaults(
            latency: DurationSpread(.milliseconds(200), deviation: .milliseconds(50)),
            down: BitRate(bitsPerSecond: 5_000_000),
            up: BitRate(bitsPerSecond: 1_000_000),
            loss: try Probability(parsing: "1 %"),
            cuts: [.mebibytes(1)],
            outages: [
                EverydayOutage(ClockWindow(from: .seconds(10), until: .seconds(15))),
                EverydayOutage(ClockWindow(from: .seconds(60)), how: .refuse),
            ]
        )
    }

    @Test func `all of them make a profile that is read back`() throws {
        let made = try all().profile
        let text = ProfileWriter.text(of: made)
        #expect(
            text == """
                {
                  "name": "options",
                  "summary": "latency 200 ms ± 50 ms, down 5 Mbit/s, up 1 Mbit/s, \
                loss 1 %, cut at 1 MiB, outage 10 s..15 s, outage 60 s=refuse",
                  "faults": [
                    { "name": "latency", "kind": "latency", "delay": "200 ms", "jitter": "50 ms" },
                    { "name": "down", "kind": "bandwidth", "stream": "downstream", "rate": "5 Mbit/s", "per": "proxy" },
                    { "name": "up", "kind": "bandwidth", "stream": "upstream", "rate": "1 Mbit/s", "per": "proxy" },
                    { "name": "loss", "kind": "loss", "rate": "1 %", "rtt": "400 ms" },
                    { "name": "cut", "kind": "cut", "at": "1 MiB", "how": "reset" },
                    { "name": "outage", "kind": "outage", "how": "silence", "when": { "clock": "10 s..15 s" } },
                    { "name": "outage-2", "kind": "outage", "how": "refuse", "when": { "clock": "60 s" } }
                  ]
                }

                """
        )
        #expect(try profile(text) == made)
    }

    @Test(
        arguments: [
            (nil, .milliseconds(50)), (.zero, .milliseconds(50)), (.milliseconds(30), .milliseconds(60)),
            (.seconds(80_000), .seconds(86_400)),
        ] as [(Duration?, Duration)]
    )
    func `the round trip of loss is twice the latency, a day at most`(delay: Duration?, roundTrip: Duration) throws {
        let faults = EverydayFaults(latency: delay.map { DurationSpread($0) }, loss: try Probability(parsing: "1 %"))
        guard case .loss(let loss)? = faults.profile.faults.last?.kind else {
            Issue.record("no loss")
            return
        }
        #expect(loss.roundTrip == roundTrip)
    }

    @Test func `several offsets are taken in turn, by a connection each`() {
        let faults = EverydayFaults(cuts: [.kibibytes(1), .zero]).profile.faults
        #expect(faults.map(\.kind) == [.cut(Cut(position: .inTurn([.kibibytes(1), .zero]), how: .reset))])
    }

    @Test func `many keep within the limit of a summary`() throws {
        let offsets = (1...256).map { ByteCount($0) }
        let made = EverydayFaults(cuts: offsets).profile
        #expect(try profile(ProfileWriter.text(of: made)) == made)
    }

    @Test func `names give way to those of the profile, on every proxy`() throws {
        let base = try profile(
            """
            { "name": "base",
              "faults": [ { "kind": "latency", "delay": "1 ms" } ],
              "phases": [ { "name": "p", "faults": [ { "kind": "latency", "delay": "1 ms", "name": "latency-2" } ] } ],
              "proxies": [
                { "name": "a", "listen": ":0", "upstream": ":1" },
                { "name": "b", "listen": ":0", "upstream": ":1",
                  "profile": { "name": "own", "faults": [ { "kind": "cut", "at": "1 B" } ] } } ] }
            """
        )
        let added = EverydayFaults(latency: DurationSpread(.seconds(1)), cuts: [.zero]).added(to: base)
        #expect(added.narrowed(to: "a").faults.map(\.name) == ["latency", "latency-3", "cut-2"])
        #expect(added.narrowed(to: "b").faults.map(\.name) == ["cut", "latency-3", "cut-2"])
        #expect(try profile(ProfileWriter.text(of: added)) == added)
        #expect(EverydayFaults().added(to: base) == base)
    }

    @Test(arguments: [("5 s", "5 s"), ("5s..", "5 s"), ("5s..10s", "5 s..10 s"), ("..1000ms", "..1 s")])
    func `an interval is written as it is read`(text: String, written: String) throws {
        #expect(try ClockWindow(parsing: text).text == written)
    }

    @Test(arguments: [
        ("", "“” is not a time"), ("..", "“..” is not a time"), ("5", "“5” has no unit"),
        ("5s..5s", "the time “5s..5s” ends where it begins, or before"),
    ])
    func `an interval that is none is an error`(text: String, problem: String) {
        let error = #expect(throws: UnitError.self) { try ClockWindow(parsing: text) }
        #expect(error?.problem == problem)
    }

    @Test(arguments: [
        ("5s..10s", "5 s..10 s"), ("5s..10s=silence", "5 s..10 s"), ("..1s=refuse", "..1 s=refuse"),
        ("5s=reset", "5 s=reset"),
    ])
    func `an outage is written as it is read`(text: String, written: String) throws {
        #expect(try EverydayOutage(parsing: text).text == written)
    }

    @Test(arguments: [
        ("5s..10s=reject", "write “refuse”"), ("5s..10s=drop", "write “silence”"),
        ("5s=", "its values are “refuse”, “silence”, “reset”"),
        ("=refuse", "write “5 s” (from then on), “5 s..10 s” or “..10 s”"),
    ])
    func `an outage with another word is an error that names the right one`(text: String, remedy: String) {
        let error = #expect(throws: UnitError.self) { try EverydayOutage(parsing: text) }
        #expect(error?.remedy == remedy)
    }
}
