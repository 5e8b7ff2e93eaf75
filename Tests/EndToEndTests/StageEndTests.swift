import Foundation
import Glibc
import Testing

/// How runs of `squall test` end: nothing of them is left behind.
@Suite(.timeLimit(.minutes(5))) struct StageEndTests {
    /// A command that starts processes in groups and sessions of their own, some of which ignore SIGTERM, and says when all
    /// of them run.
    private static let sprawling = """
        setsid sh -c 'echo $$ >> pids; exec sleep 300' &
        (setsid sh -c 'trap "" TERM; echo $$ >> pids; sleep 300; sleep 300' &)
        (sh -c 'echo $$ >> pids; exec sleep 300' &)
        trap '' TERM
        while [ "$(wc -l < pids 2>/dev/null)" != 3 ]; do :; done
        echo "pids $(tr '\\n' ' ' < pids) $$ all"
        sleep 300
        """

    private static func scenario(_ folder: URL) throws {
        let text = """
            { "name": "sprawl", "proxies": [
                { "name": "socket", "listen": "unix", "upstream": "127.0.0.1:9", "profile": "slow-3g" } ],
              "command": ["sh", "sprawl.sh"], "time-limit": "1 min" }
            """
        try Data(text.utf8).write(to: folder.appendingPathComponent("stage.json"))
        try Data(sprawling.utf8).write(to: folder.appendingPathComponent("sprawl.sh"))
        for name in ["work", "temporary"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name),
                withIntermediateDirectories: false
            )
        }
    }

    /// Runs the scenario up to the moment at which all of its processes run, then `end`, and checks that nothing is left.
    private func check(_ options: [String] = [], _ end: (Child) async throws -> Void) async throws {
        try await withFolder { folder in
            try StageEndTests.scenario(folder)
            let temporary = folder.appendingPathComponent("temporary")
            try await withChild(
                Programs.squall,
                ["test", "stage.json", "--show-output"] + options,
                environment: ["TMPDIR": temporary.path],
                folder: folder
            ) { child in
                let line = try await child.line(with: " all")
                let processes = line.split(separator: " ").compactMap { pid_t($0) }
                #expect(processes.count == 4, "\(line)")
                if options.isEmpty {
                    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).count == 1)
                }
                try await end(child)
                var (rounds, isLeft) = (0, true)
                while isLeft, rounds < 20_000_000 {
                    rounds += 1
                    isLeft = processes.contains { kill($0, 0) == 0 }
                    if !isLeft { isLeft = try !FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty }
                }
                #expect(!processes.contains { kill($0, 0) == 0 }, "a process is left")
                #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
            }
        }
    }

    @Test(arguments: 1...10)
    func `SIGKILL of squall leaves neither a process nor a socket file`(run: Int) async throws {
        try await check { child in
            child.signal(SIGKILL)
            _ = await child.finish()
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal ends the stage and everything of it`(number: Int32) async throws {
        try await check { child in
            child.signal(number)
            let outcome = await child.finish()
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("interrupted: the stage has no result"))
        }
    }

    @Test func `a command beyond the time limit is stopped with all that it started`() async throws {
        try await check(["--time-limit", "5s", "--allow-vacuous"]) { child in
            let outcome = await child.finish()
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("the command didn't end within 5 s"))
        }
    }

    @Test func `what a command leaves running is killed when it has ended`() async throws {
        try await withFolder { folder in
            let script = "setsid sleep 300 & echo \"left $! behind\"; (setsid sleep 300 &) ; exit 0"
            let outcome = try await squall(
                "test",
                "--profile",
                "slow-3g",
                "--upstream",
                "127.0.0.1:9",
                "--allow-vacuous",
                "--show-output",
                "--",
                "sh",
                "-c",
                script,
                folder: folder
            )
            #expect(outcome.status == 0, "\(outcome)")
            let line = try #require(outcome.lines.first { $0.hasPrefix("left ") })
            let process = try #require(line.split(separator: " ").compactMap { pid_t($0) }.first)
            #expect(kill(process, 0) != 0)
        }
    }
}
