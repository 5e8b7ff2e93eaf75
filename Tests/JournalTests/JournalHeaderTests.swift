import FaultPlan
import FaultProfile
import Journal
import Testing
import Units

/// The first line of a journal.
@Suite struct JournalHeaderTests {
    private func line(_ proxy: JournalHeader.ProxyEntry) -> String {
        JournalHeader(version: "1", profile: Profile(name: "x"), digest: "0", proxies: [proxy]).line
    }

    @Test func `a clock that was told when to start is in it, any other isn't`() {
        let begin = #"{"digest":"0","event":"journal","profile":{"name":"x"},"proxies":[{"#
        let end = #""name":"p","seed":7,"upstream":"a:1"}],"version":"1"}"#
        #expect(line(.init(name: "p", seed: 7, upstream: "a:1")) == begin + end)
        #expect(line(.init(name: "p", seed: 7, upstream: "a:1", clock: 1_500)) == begin + #""clock":1500,"# + end)
        #expect(line(.init(name: "p", seed: 7, upstream: "a:1", clock: -20)) == begin + #""clock":-20,"# + end)
    }

    @Test func `TLS of a proxy's clients is written, and read again`() throws {
        let entry = JournalHeader.ProxyEntry(name: "p", seed: 7, upstream: "tls:a:1", clientsUseTLS: true)
        let text = line(entry)
        #expect(text.contains(#""seed":7,"tls":"clients","upstream":"tls:a:1"}"#))
    }

    @Test(
        arguments: [
            ("unix:app.sock", "unix:/run/here/app.sock"), ("unix:./80", "unix:/run/here/80"),
            ("unix:/run/app.sock", "unix:/run/app.sock"), ("unix:@app", "unix:@app"), ("a:1", "a:1"),
            ("any host", "any host"),
        ]
    )
    func `a Unix socket is named by its absolute path`(upstream: String, name: String) {
        #expect(JournalTraces.address(upstream, from: "/run/here") == name)
    }

    @Test func `a path that would be too long for a socket stays relative`() {
        #expect(JournalTraces.address("unix:s", from: "/" + String(repeating: "a", count: 106)) == "unix:s")
    }

    @Test(
        arguments: [
            (nil, nil), (0, 5_000_000), (2, 3_000_000), (-2, 7_000_000), (.max, .min + 5_000_000), (.min, .max),
        ] as [(Int64?, Int64?)]
    )
    func `a clock goes on where it was, however far that is`(clock: Int64?, start: Int64?) {
        let entry = JournalHeader.ProxyEntry(name: "p", seed: 7, upstream: "a:1", clock: clock)
        #expect(entry.clockStart(at: Moment(nanoseconds: 5_000_000))?.nanoseconds == start)
    }
}
