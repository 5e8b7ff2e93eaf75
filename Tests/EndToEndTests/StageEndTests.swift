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
        while [ "$(wc -l < pids 2>/dev/null)" != 3 ]; do sleep 0.02; done
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
    private func check(
        _ options: [String] = [],
        _ end: (Child, _ command: pid_t) async throws -> Void
    ) async throws {
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
                try await end(child, try #require(processes.last))
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
        try await check { child, _ in
            child.signal(SIGKILL)
            _ = await child.finish()
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal ends the stage and everything of it`(number: Int32) async throws {
        try await check { child, _ in
            child.signal(number)
            let outcome = await child.finish()
            #expect(outcome.status == 1)
            #expect(outcome.errors == "squall: interrupted: 0 of 1 run finished\n")
        }
    }

    @Test func `a command beyond the time limit is stopped with all that it started`() async throws {
        try await check(["--time-limit", "5s", "--allow-vacuous"]) { child, _ in
            let outcome = await child.finish()
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("the command didn't end within 5 s"))
        }
    }

    /// A command in the process group of its guard, which goes on when it is asked to end.
    private static let leaving = """
        import os, signal, time
        signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"asked\\n"))
        os.setpgid(0, os.getpgid(os.getppid()))
        print("left", flush=True)
        time.sleep(60)
        print("over", flush=True)
        """

    @Test(arguments: [nil, SIGINT])
    func `a command that has left its process group is asked to end, and killed`(number: Int32?) async throws {
        let arguments = [
            "test", "--latency", "1ms", "--upstream", "127.0.0.1:9", "--time-limit", number == nil ? "3s" : "5min",
            "--show-output", "--", "python3", "-ISc", StageEndTests.leaving,
        ]
        let outcome = try await withChild(Programs.squall, arguments) { child in
            _ = try await child.line(with: "left")
            if let number { child.signal(number) }
            return await child.finish()
        }
        #expect(outcome.status == 1 && outcome.output.contains("asked\n"), "\(outcome)")
        #expect(!outcome.lines.contains("over"), "\(outcome)")
    }

    @Test func `what a command leaves running is killed when it has ended`() async throws {
        try await withFolder { folder in
            let script = "setsid sleep 300 & echo \"left $! behind\"; (setsid sleep 300 &) ; exit 0"
            let outcome = try await squall(
                words: "test --profile slow-3g --upstream 127.0.0.1:9 --allow-vacuous --show-output -- sh -c \(script)",
                folder: folder
            )
            #expect(outcome.status == 0, "\(outcome)")
            let line = try #require(outcome.lines.first { $0.hasPrefix("left ") })
            let process = try #require(line.split(separator: " ").compactMap { pid_t($0) }.first)
            #expect(kill(process, 0) != 0)
        }
    }

    @Test(arguments: ["--upstream 127.0.0.1:9", "--exec"])
    func `a command that asks the terminal ends at once`(place: String) async throws {
        let command = "sh -c 'read x </dev/tty || exit 7'"
        let line = "'\(Programs.squall.path)' test --latency 1ms \(place) --time-limit 30s -- \(command)"
        let outcome = try await run("script", ["-qec", line, "/dev/null"])
        #expect(outcome.output.contains("FAIL  ") && outcome.output.contains("the command exited with "), "\(outcome)")
    }

    /// The parent of a process, by proc_pid_status(5).
    private func parent(of process: pid_t) throws -> pid_t {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        return try #require(status.firstMatch(of: /PPid:\s*([0-9]+)/).flatMap { pid_t($0.output.1) })
    }

    @Test(arguments: [SIGSTOP, SIGKILL], 1...3)
    func `a guard that is stopped or killed ends the run, and everything of it`(
        signal: Int32,
        run: Int
    ) async throws {
        try await check { child, command in
            kill(try parent(of: command), signal)
            let outcome = await child.finish()
            #expect(outcome.status == 1, "\(outcome)")
            let word = signal == SIGSTOP ? "stopped" : "killed"
            let reason =
                "the process that guards the command was \(word), so all that it had started was killed"
            #expect(outcome.lines.contains("      \(reason)"), "\(outcome)")
            #expect(outcome.errors == "squall: the run failed\n")
        }
    }

    @Test func `a guard that is lost takes nothing of the other runs with it`() async throws {
        try await withFolder { folder in
            let script = """
                if [ {seed} = 1 ]; then
                    while [ ! -e two ]; do :; done
                    (setsid sleep 300 &) ; kill -KILL $PPID; sleep 300
                fi
                echo $$ > {seed}.pid; touch two
                while kill -0 $(cat 1.guard) 2>/dev/null; do :; done
                exit 0
                """
            let first = "echo $PPID > {seed}.guard.new; mv {seed}.guard.new {seed}.guard; "
            let waits = "while [ ! -e 1.guard ]; do :; done; "
            let outcome = try await squall(
                words: """
                    test --profile slow-3g --upstream 127.0.0.1:9 --allow-vacuous --seed 1..2 --jobs 2
                    -- sh -c \(first + waits + script)
                    """,
                folder: folder
            )
            #expect(outcome.status == 1, "\(outcome)")
            #expect(outcome.lines.contains { $0.hasPrefix("empty slow-3g, seed 2  ") }, "\(outcome)")
            #expect(outcome.lines.contains { $0.hasPrefix("FAIL  slow-3g, seed 1  ") }, "\(outcome)")
        }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `an interrupted stage reports the runs that finished, and skips the rest`(number: Int32) async throws {
        try await withFolder { folder in
            let arguments = [
                "test", "--profile", "slow-3g", "--upstream", "127.0.0.1:9", "--allow-vacuous", "--seed", "1..4",
                "--junit", "report.xml", "--tap", "report.tap", "--html", "report.html", "--svg", "report.svg",
                "--show-output", "--", "sh", "-c", "if [ {seed} = 3 ]; then echo third; sleep 300; fi",
            ]
            let outcome = try await withChild(Programs.squall, arguments, folder: folder) { child in
                _ = try await child.line(with: "third")
                child.signal(number)
                return await child.finish()
            }
            #expect(outcome.status == 1)
            #expect(outcome.errors == "squall: interrupted: 2 of 4 runs finished, 2 are empty\n")
            let check = """
                import xml.etree.ElementTree as tree
                cases = list(tree.parse("report.xml").getroot().iter("testcase"))
                print([case.find("skipped").get("message")[:9] for case in cases])
                """
            let parsed = try await withChild(Programs.find("python3"), ["-c", check], folder: folder) {
                await $0.finish()
            }
            #expect(parsed.output == "['no connec', 'no connec', 'the stage', 'the stage']\n", "\(parsed)")
            for name in ["report.tap", "report.html", "report.svg"] {
                let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
                #expect(!text.isEmpty, "\(name)")
            }
        }
    }
}
