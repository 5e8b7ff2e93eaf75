import Foundation
import Glibc
import Testing

/// What the command of `squall exec` has of Squall's caller.
@Suite(.timeLimit(.minutes(5))) struct ExecCallerTests {
    /// The options with which a command has the same of its caller.
    private static let options = ["", "--page --port 0", "--intercept localhost"]

    /// Runs a script of bash, which ends when a command of it fails, and in which `$@` is `squall exec` with options, up to the command.
    private func bash(_ script: String, _ options: String) async throws -> Outcome {
        let words = [Programs.squall.path, "exec", "--latency", "1ms"] + options.split(separator: " ").map(String.init)
        let outcome = try await run("bash", ["-ec", script, "bash"] + words + ["--"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome
    }

    @Test(arguments: options) func `every descriptor has its number`(options: String) async throws {
        try await withFolder { folder in
            let script = """
                cd '\(folder.path)'
                for number in 3 4 5 9 40; do eval "exec $number>$number"; done
                "$@" bash -c 'for number in 3 4 5 9 40; do echo "is $number" >&$number; done'
                cat 3 4 5 9 40
                """
            let outcome = try await bash(script, options)
            #expect(outcome.lines == ["is 3", "is 4", "is 5", "is 9", "is 40"])
        }
    }

    /// Ignores and blocks signals, and runs the arguments.
    private static let signals = """
        import os, signal, sys
        for number in [signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGTSTP, signal.SIGRTMAX]:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGQUIT, signal.SIGCHLD, signal.SIGRTMIN})
        os.execvp(sys.argv[1], sys.argv[1:])
        """

    @Test(arguments: options) func `ignored and blocked signals stay so, and others don't`(options: String) async throws
    {
        let show = #"grep -E '^Sig(Blk|Ign)' /proc/self/status"#
        for start in ["", "python3 -c \"$SIGNALS\""] {
            let script = "SIGNALS='\(ExecCallerTests.signals)'; \(start) \(show); \(start) \"$@\" \(show)"
            let lines = try await bash(script, options).lines
            try #require(lines.count == 4)
            #expect(lines[..<2] == lines[2...])
        }
    }

    @Test func `signals that are ignored neither end it nor are passed on`() async throws {
        try await withFolder { folder in
            // The command doesn't ignore them any more.
            let command = """
                import os, signal, sys
                for number in [signal.SIGHUP, signal.SIGTERM]:
                    signal.signal(number, signal.SIG_DFL)
                os.mkfifo("go")
                print("ready", flush=True)
                open("go").close()
                sys.exit(5)
                """
            let words = [
                "-c", "trap '' HUP TERM; exec \"$@\"", "bash", Programs.squall.path, "exec", "--latency", "1ms",
            ]
            let all = words + ["--", "python3", "-c", command]
            let status = try await withChild(Programs.find("bash"), all, folder: folder) { child in
                _ = try await child.line(with: "ready")
                for number in [SIGHUP, SIGTERM, SIGTERM] { child.signal(number) }
                try #require(FileHandle(forWritingAtPath: folder.path + "/go")).close()
                return await child.finish().status
            }
            #expect(status == 5)
        }
    }

    @Test func `signals that come together are one, and a later one ends everything`() async throws {
        try await withFolder { folder in
            // Its clean-up ends when it may.
            let command = """
                trap 'trap "" TERM HUP; echo asked; read line < go; exit 9' TERM HUP
                mkfifo go; echo ready; while :; do sleep 0.05; done
                """
            let words = ["exec", "--latency", "1ms", "--", "sh", "-c", command]
            let status = try await withChild(Programs.squall, words, folder: folder) { child in
                _ = try await child.line(with: "ready")
                child.signal(SIGTERM)
                child.signal(SIGHUP)
                _ = try await child.line(with: "asked")
                try #require(FileHandle(forWritingAtPath: folder.path + "/go")).close()
                return await child.finish().status
            }
            #expect(status == 9)
        }
        try await withFolder { folder in
            let words = ["exec", "--latency", "1ms", "--", "sh", "-c", "trap '' TERM; echo ready; exec sleep 1000"]
            let status = try await withChild(Programs.squall, words, folder: folder) { child in
                _ = try await child.line(with: "ready")
                await child.insist(SIGTERM)
                return await child.finish().status
            }
            #expect(status == 143)
        }
    }

    @Test func `a SIGTERM behind a SIGHUP, by which a command reloads, is passed on`() async throws {
        let command = "trap 'echo reloaded' HUP; trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"
        let words = ["exec", "--latency", "1ms", "--", "sh", "-c", command]
        let status = try await withChild(Programs.squall, words) { child in
            _ = try await child.line(with: "ready")
            child.signal(SIGHUP)
            _ = try await child.line(with: "reloaded")
            child.signal(SIGTERM)
            return await child.finish().status
        }
        #expect(status == 9)
    }

    @Test(arguments: [("CONT", 4), ("KILL", 137)])
    func `it goes on when its command has stopped itself`(signal: String, status: Int) async throws {
        let command = """
            (until grep -q '^State:.T' /proc/$$/status; do sleep 0.01; done; kill -\(signal) $$) &
            kill -STOP $$; exit 4
            """
        let outcome = try await squall(["exec", "--latency", "1ms", "--", "sh", "-c", command])
        #expect(Int(outcome.status) == status, "\(outcome.errors)")
    }

    @Test func `a signal to the process group of the command ends neither Squall nor its guard`() async throws {
        let command = "for name in USR1 USR2 ALRM PROF; do trap : $name; kill -$name 0; done; exit 6"
        let words = ["-w", Programs.squall.path, "exec", "--latency", "1ms", "--", "bash", "-c", command]
        #expect(try await run("setsid", words).status == 6)
    }

    @Test func `a signal that is blocked is passed on to the command, which has it blocked`() async throws {
        let block = """
            import os, signal, sys
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            os.execv(sys.argv[1], sys.argv[1:])
            """
        let command = "import signal, sys; print('ready', flush=True); signal.sigwait({signal.SIGTERM}); sys.exit(9)"
        let words = ["-c", block, Programs.squall.path, "exec", "--latency", "1ms", "--", "python3", "-c", command]
        let status = try await withChild(Programs.find("python3"), words) { child in
            _ = try await child.line(with: "ready")
            child.signal(SIGTERM)
            return await child.finish().status
        }
        #expect(status == 9)
    }

    @Test(arguments: options) func `words and variables have their bytes`(options: String) async throws {
        try await withFolder { folder in
            let script = #"""
                cd '\#(folder.path)'
                export NAME=$'caf\xe9'
                printf '#!/bin/sh\nprintf "%%s;" "$NAME" "$@" > out; env > env' > $'run\xff'
                chmod +x $'run\xff'
                "$@" $'./run\xff' $'caf\xe9' '' $'caf\xe8' $'e\u0301' -- $'\xff=' a
                printf 'caf\xe9;caf\xe9;;caf\xe8;e\u0301;--;\xff=;a;' | cmp - out
                LC_ALL=C grep -qx $'NAME=caf\xe9' env
                "$@" $'no-such-\xff' || (($? == 127))
                """#
            _ = try await bash(script, options)
        }
    }

    @Test(arguments: options) func `a closed standard descriptor is closed`(options: String) async throws {
        let tell = #"for number in 0 1 2; do [[ ! -e /proc/$$/fd/$number ]] || echo $number >&8; done"#
        let script = "exec 8>&1; for shut in '<&-' '>&-' '2>&-'; do eval '\"$@\" bash -c \"$TELL\"' $shut; done"
        let lines = try await bash("export TELL='\(tell)'; \(script)", options).lines
        #expect(lines == ["1", "2", "0", "2", "0", "1"])
    }

    @Test func `the tasks of make are shared with the command's own make`() async throws {
        try await withFolder { folder in
            let makefile = """
                all: one two
                one two:
                \t+@"$(SQUALL)" exec --latency 1ms -- $(MAKE) --no-print-directory below
                below:
                \t@echo made
                """
            try Data(makefile.utf8).write(to: folder.appendingPathComponent("Makefile"))
            let words = ["-C", folder.path, "--no-print-directory", "-j2", "SQUALL=\(Programs.squall.path)"]
            let outcome = try await run("make", words)
            #expect(outcome.status == 0)
            #expect(outcome.lines == ["made", "made"])
            #expect(outcome.complaints.isEmpty, "a make without the tasks of its caller warns")
        }
    }
}
