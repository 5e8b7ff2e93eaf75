import FaultProfile
import Foundation
import TerminalDisplay
import Testing
import Units

@testable import SquallCommand

/// Command lines in the forms of Toxiproxy's programs.
@Suite struct CommandTranslationTests {
    /// The translation of a line, split at its spaces.
    private func translated(_ line: String) -> String {
        let words = line.split(separator: " ").map(String.init)
        switch CommandTranslation.translate(program: words[0], Array(words.dropFirst())) {
        case .arguments(let arguments): return arguments.joined(separator: " ")
        case .text(let text): return "prints \(text)"
        }
    }

    @Test(arguments: [
        ("squall run x --listen a:1", "run x --listen a:1"),
        ("squall serve -host=0.0.0.0 -config=/x", "serve --host=0.0.0.0 --config=/x"),
        ("squall serve --port 1 --strict-compat", "serve --port=1 --strict-compat"),
        ("squall serve -h", "serve -h"),
        ("/usr/bin/toxiproxy-server -port 1 --host=h", "serve --starts-anyway --port=1 --host=h"),
        ("toxiproxy-server -proxy-metrics --runtime-metrics=true", "serve --starts-anyway"),
        ("toxiproxy-server -seed -2", "serve --starts-anyway --seed=18446744073709551614"),
        ("toxiproxy-server -version", "prints toxiproxy-server version 2.12.0"),
        ("toxiproxy-server --version=false -config x", "serve --starts-anyway --config=x"),
        ("toxiproxy-server -h", "serve --starts-anyway --help"),
        ("toxiproxy-server -config", "serve --starts-anyway --config"),
        ("/toxiproxy -host=0.0.0.0 -config=/x", "serve --starts-anyway --host=0.0.0.0 --config=/x"),
        ("/toxiproxy", "serve --starts-anyway"),
        ("/toxiproxy --version", "prints toxiproxy-server version 2.12.0"),
        ("/toxiproxy run x --listen a:1", "run x --listen a:1"),
        ("/toxiproxy serve -host=h", "serve --host=h"),
    ])
    func `Go's flags of a server become options`(given: String, expected: String) {
        #expect(translated(given) == expected)
    }

    @Test(arguments: [
        ("toxiproxy-cli --version", "prints toxiproxy-cli version 2.12.0"),
        ("./toxiproxy-cli", "ctl"),
        ("toxiproxy-cli -h http://x ls", "ctl ls --host=http://x"),
        ("squall ctl --host=http://x --json ls", "ctl ls --host=http://x --json"),
        ("squall ctl help toxic add", "help ctl toxic add"),
        ("toxiproxy-cli create -l a:1 -upstream=b:2 db", "ctl create db --listen=a:1 --upstream=b:2"),
        ("squall ctl -u b:2 create db -l :1", "ctl create db --upstream=b:2 --listen=:1"),
        ("toxiproxy-cli create -l :1 -u b:2 db", "ctl create db --listen=[::]:1 --upstream=b:2"),
        ("squall ctl --for 3s fault add db f kind=cut", "ctl fault add db f kind=cut --for=3s"),
        ("toxiproxy-cli new -u b:2 -l a:1 db", "ctl new db --upstream=b:2 --listen=a:1"),
        (
            "toxiproxy-cli toxic add -t latency -n x -tox 0.5 -a latency=1 -a jitter=-1 -u db",
            "ctl toxic add db --type=latency --toxicName=x --toxicity=0.5 --attribute=latency=1 --attribute=jitter=-1 "
                + "--upstream"
        ),
        ("toxiproxy-cli t a -u=false -d db", "ctl t a db --downstream"),
        ("toxiproxy-cli t d -n db db", "ctl t d db --toxicName=db"),
        ("squall ctl journal -f --proxy db", "ctl journal --follow --proxy=db"),
        ("squall ctl inspect -- -x", "ctl inspect -- -x"),
        ("squall ctl list --bogus", "ctl list --bogus"),
        ("squall ctl list -h", "ctl list --host"),
    ])
    func `options of the client go after its command`(given: String, expected: String) {
        #expect(translated(given) == expected)
    }
}

/// The parts of `squall ctl` without a server.
@Suite struct ControlPartTests {
    @Test func `a table is aligned for a terminal, and has tabs and no headings in a pipe`() {
        let table = ControlTable(headings: ["name", "n"], rows: [["longer", "1"], ["b\tc", ""]])
        #expect(table.text(isTerminal: true) == "name     n\nlonger   1\nb\\u{9}c\n")
        #expect(table.text(isTerminal: false) == "longer\t1\nb\\u{9}c\t\n")
    }

    @Test(arguments: [
        (0, "0"), (100, "100"), (0.5, "0.5"), (999_999, "999999"), (1_000_000, "1e+06"), (1_234_567, "1.234567e+06"),
        (-25, "-25"), (0.00001, "1e-05"), (9_007_199_254_740_992, "9.007199254740992e+15"),
    ])
    func `numbers are written as by Go`(number: Double, text: String) {
        #expect(ControlOutput.goText(number) == text)
    }

    @Test(arguments: [
        (0, "0.00"), (0.5, "0.50"), (1, "1.00"), (0.005, "0.01"), (0.015, "0.01"), (0.025, "0.03"), (0.125, "0.12"),
        (0.375, "0.38"), (1.005, "1.00"), (-0.25, "-0.25"), (12.999, "13.00"),
    ])
    func `a toxicity is rounded as by printf`(number: Double, text: String) {
        #expect(Formatting.hundredths(number) == text)
        #expect(String(format: "%.2f", number) == text)
    }

    @Test(arguments: [
        ("http://localhost:8474", "localhost:8474", ""), ("db.example:80", "db.example:80", ""),
        ("HTTP://[::1]:1/", "[::1]:1", ""), ("http://h/a/b/", "h:80", "/a/b"),
    ])
    func `the URL of a server needs no scheme, and may have a path`(text: String, authority: String, path: String)
        throws
    {
        let url = try ControlURL(text)
        #expect(url.authority == authority)
        #expect(url.path == path)
    }

    @Test(arguments: ["", "http://", "https://h:1", "ftp://h", "h:0", "h:99999", "http://u@h", "h?x", "h:x"])
    func `what isn't the URL of a server is wrong input`(text: String) {
        let failure = #expect(throws: CommandFailure.self) { try ControlURL(text) }
        #expect(failure?.code == .wrongInput)
    }

    @Test func `server-sent events are found however their bytes are cut`() throws {
        let text =
            "event: fault\r\nid: 4\ndata: {\"a\":\ndata:1}\n\n: comment\n\ndata: x\n\nevent: change\ndata: {}\n\n"
        let expected = [
            ServerSentEvents.Event(name: "fault", data: "{\"a\":\n1}"),
            ServerSentEvents.Event(name: "message", data: "x"),
            ServerSentEvents.Event(name: "change", data: "{}"),
        ]
        for length in [1, 2, 7, 1_000] {
            var stream = ServerSentEvents()
            var events: [ServerSentEvents.Event] = []
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                events += try stream.append(Array(rest.prefix(length)))
                rest = rest.dropFirst(length)
            }
            #expect(events == expected)
        }
        var endless = ServerSentEvents()
        #expect(throws: ControlClient.Failure.self) {
            try endless.append([UInt8](repeating: 120, count: ServerSentEvents.sizeLimit + 1))
        }
    }

    @Test(arguments: [
        (["kind=latency", "delay=200 ms"], #"{"kind":"latency","delay":"200 ms"}"#),
        (["kind=cut", "when={\"connection\": 1}", "x=a=b"], #"{"kind":"cut","when":{"connection": 1},"x":"a=b"}"#),
        ([#"{"kind": "cut"}"#], #"{"kind": "cut"}"#),
    ])
    func `a fault is an object, or its members`(words: [String], text: String) throws {
        #expect(try SetFaultControl.fault(words[...]) == text)
    }

    @Test func `a refusal is shown in the words of the server`() {
        func text(_ status: Int, _ body: String) -> String { ControlClient.failure(status, Array(body.utf8)).text }
        #expect(text(404, #"{"error":"proxy not found","status":404}"#) == "HTTP 404: proxy not found")
        let problem =
            #"{"title":"Bad","detail":"bad profile","problems":[{"line":3,"column":7,"message":"m","remedy":"r"}]}"#
        #expect(text(400, problem) == "HTTP 400: Bad\n3:7: m (r)")
        #expect(text(404, #"{"title":"Not Found","detail":"no such fault"}"#) == "HTTP 404: no such fault")
        #expect(text(503, "<html>\n") == "HTTP 503: <html>")
        #expect(text(500, "") == "HTTP 500")
    }
}
