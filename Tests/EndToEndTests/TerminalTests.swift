import Foundation
import Testing

/// What a person at a terminal sees, and what a pipe must not.
@Suite(.timeLimit(.minutes(5))) struct TerminalTests {
    @Test func `a pipe gets neither escape sequences nor carriage returns`() async throws {
        let demo = try await squall("demo", "first-two-fail", "--size", "200KiB")
        let list = try await squall("profiles")
        let wrong = try await squall("demo", "nothing")
        for outcome in [demo, list, wrong] {
            for sign in ["\u{1B}", "\r", "\u{8}"] { #expect(!(outcome.output + outcome.errors).contains(sign)) }
        }
        #expect(demo.complaints.isEmpty, "progress is for terminals")
        #expect(demo.output.contains("client: resumed at "))
    }

    @Test func `a terminal gets a line of progress, and the end of it is clean`() async throws {
        // script(1) gives its child a terminal and copies what that shows.
        let line = "'\(Programs.squall.path)' demo slow-3g --size 24KiB"
        let shown = try await run("script", ["-qec", line, "/dev/null"])
        #expect(shown.status == 0)
        #expect(shown.output.contains("\u{1B}[K"))
        #expect(shown.output.contains("of 24.0 KiB ("))
        let last = try #require(shown.output.components(separatedBy: "\u{1B}[K").last)
        #expect(last.contains("equal: the file arrived byte for byte"))
    }

    @Test func `a reader of the output who has left does not end the proxy`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withProxy("slow-3g", to: origin, ["--journal", "-"], isHeard: false) { _, address in
                let first = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                let second = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                #expect(first.status == 0)
                #expect(second.status == 0)
            }
        }
    }
}
