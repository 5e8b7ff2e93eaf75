import FaultProfile
import Foundation
import TerminalDisplay
import Testing
import Units

@testable import ControlService

/// The parts of `squall ctl` without a server.
@Suite struct ControlPartTests {
    @Test(arguments: [("5", 5), ("3.9", 3), ("-1", 0), ("1e300", Int.max), ("1e999", Int.max), ("null", 0)])
    func `any number is a count`(text: String, count: Int) throws {
        #expect(try JSONReader.firstValue(of: Array(text.utf8), name: "response").count == count)
    }

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
        ("https://h", "h:443", ""), ("HTTPS://h:1", "h:1", ""),
    ])
    func `the URL of a server needs no scheme, and may have a path`(text: String, authority: String, path: String)
        throws
    {
        let url = try ControlURL(text)
        #expect(url.authority == authority)
        #expect(url.path == path)
    }

    @Test(arguments: ["", "http://", "https://", "ftp://h", "h:0", "h:99999", "http://u@h", "h?x", "h:x"])
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
