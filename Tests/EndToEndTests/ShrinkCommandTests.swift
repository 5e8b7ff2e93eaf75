import Digests
import Foundation
import Glibc
import Testing

/// The start and end of the command run by `squall shrink`.
@Suite(.timeLimit(.minutes(5))) struct ShrinkCommandTests {
    /// A journal of forty cuts, one per connection, with an unreachable upstream.
    private static func journal() -> String {
        let profile = #"{"name":"x","faults":[{"name":"cut","kind":"cut","every":"1 KB","how":"reset"}]}"#
        let digest = SHA256.hash(profile.utf8).hexadecimal
        let proxies = #"[{"name":"p","seed":7,"upstream":"127.0.0.1:9"}]"#
        let header =
            #"{"digest":"\#(digest)","event":"journal","profile":\#(profile),"proxies":\#(proxies),"version":"1"}"#
        let lines = (1...40).map { number in
            #"{"connection":\#(number),"direction":"downstream","fault":"cut","offset":1000,"proxy":"p","what":"resets"}"#
        }
        return ([header] + lines + [""]).joined(separator: "\n")
    }

    /// Runs `body` in a folder with the journal and a FIFO.
    private func withJournal(_ body: (URL) async throws -> Void) async throws {
        try await withFolder { folder in
            try Data(ShrinkCommandTests.journal().utf8).write(to: folder.appendingPathComponent("journal.jsonl"))
            #expect(mkfifo(folder.appendingPathComponent("pipe").path, 0o600) == 0)
            try await body(folder)
        }
    }

    private func shrink(_ script: String, _ options: [String] = [], in folder: URL) async throws -> Outcome {
        let arguments = ["shrink", "journal.jsonl"] + options + ["--", "sh", "-c", script]
        return try await squall(arguments, folder: folder)
    }

    /// Starts a search whose command `script` reports its start through the FIFO, and runs `body` then. The reader of
    /// the FIFO sees its end when no writer is left.
    private func withSearch(
        _ script: String,
        _ options: [String] = [],
        in folder: URL,
        _ body: (_ search: Child, _ reader: Child) async throws -> Void
    ) async throws {
        try await withChild(Programs.find("cat"), [folder.appendingPathComponent("pipe").path]) { reader in
            // On a busy machine the signal may come after the minute that a command has if nothing is said.
            let arguments = ["shrink", "journal.jsonl", "--patience", "10 min"] + options + ["--", "sh", "-c", script]
            try await withChild(Programs.squall, arguments, folder: folder) { search in
                _ = try await reader.line(with: "begun")
                try await body(search, reader)
            }
        }
    }

    /// A command that ignores SIGTERM and leaves a child process.
    private static let stubborn = "trap '' TERM; exec 3> pipe; echo begun >&3; sleep 1000 & sleep 1000"
    private static let passes = "squall: the command doesn't fail with all 40 faults of the journal\n"
    private static let fails = "squall: the command fails without a fault as well\n"

    @Test func `begins with no signal blocked, and a broken pipe ends it`() async throws {
        try await withJournal { folder in
            let script = """
                while read -r name value rest; do
                    case $name in
                        SigBlk:) [ "$value" = 0000000000000000 ] || exit 1;;
                        SigIgn:) [ $((0x$value & 0x1000)) -eq 0 ] || exit 1;;
                    esac
                done < /proc/self/status
                """
            let looks = try await shrink(script, in: folder)
            #expect(looks.errors == ShrinkCommandTests.passes)
            let alarmed = try await shrink("kill -ALRM $$; exit 0", in: folder)
            #expect(alarmed.errors == ShrinkCommandTests.fails)
        }
    }

    @Test func `is over when it has ended, whatever it leaves running`() async throws {
        try await withJournal { folder in
            let outcome = try await shrink("sleep 1000 & exit 0", in: folder)
            #expect(outcome.errors == ShrinkCommandTests.passes)
        }
    }

    @Test func `has failed when its time is over, however it ends then, and is told to end first`() async throws {
        try await withJournal { folder in
            let script = "trap 'echo told >> told; exit 0' TERM; sleep 1000 & wait"
            let outcome = try await shrink(script, ["--patience", "1 s"], in: folder)
            #expect(outcome.errors == ShrinkCommandTests.fails)
            let told = try String(contentsOf: folder.appendingPathComponent("told"), encoding: .utf8)
            #expect(told == "told\ntold\n", "in both runs")
            let impatient = try await shrink("sleep 1000", ["--patience", "1 ns"], in: folder)
            #expect(impatient.errors == ShrinkCommandTests.fails)
        }
    }

    @Test func `that can't be run is told from one that ends like a shell that can't`() async throws {
        try await withJournal { folder in
            for name in ["./nothing", "no-such-program-anywhere"] {
                let missing = try await squall("shrink", "journal.jsonl", "--", name, folder: folder)
                #expect(missing.status == 2)
                #expect(missing.errors.hasPrefix("squall: can't run “\(name)”: No such file or directory ("))
            }
            let fails = try await shrink("exit 127", in: folder)
            #expect(fails.errors == ShrinkCommandTests.fails)
        }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `is ended with all that it started when the search is interrupted`(signal: Int32) async throws {
        try await withJournal { folder in
            try await withSearch(ShrinkCommandTests.stubborn, in: folder) { search, reader in
                search.signal(signal)
                let outcome = await search.finish()
                #expect(outcome.status == 1)
                #expect(outcome.errors == "squall: interrupted before a smaller list of faults was found\n")
                #expect(await reader.finish().status == 0)
            }
        }
    }

    @Test func `is interrupted: the smallest list so far is told and written`() async throws {
        try await withJournal { folder in
            let script = """
                echo run >> runs
                case $(grep -c run runs) in 1 | 3) exit 1;; 2) exit 0;; esac
                echo begun > pipe; sleep 1000
                """
            try await withSearch(script, in: folder) { search, _ in
                search.signal(SIGINT)
                let outcome = await search.finish()
                #expect(outcome.status == 1)
                #expect(outcome.errors == "squall: interrupted; a smaller list may do\n")
                #expect(outcome.lines.first == "40 faults shrunk to 20 in 3 runs")
                #expect(outcome.lines.last == "written: shrunk.json")
                let checked = try await squall("check", "shrunk.json", folder: folder)
                #expect(checked.status == 0)
                #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("shrunk.jsonl").path))
            }
        }
    }

    @Test func `is ended at once with all that it started by a second signal`() async throws {
        try await withJournal { folder in
            try await withSearch(ShrinkCommandTests.stubborn, in: folder) { search, reader in
                search.signal(SIGINT)
                await search.insist(SIGTERM)
                #expect(await search.finish().status == 128 + SIGTERM)
                #expect(await reader.finish().status == 0)
            }
        }
    }

    @Test func `passes the last time, and that is told beside the end of the runs`() async throws {
        try await withJournal { folder in
            let script = "echo run >> runs; case $(grep -c run runs) in 1 | 3) exit 1;; esac"
            let passed = "squall: the command passed the last time: it doesn't always fail"
            let outcome = try await shrink(script, ["--runs", "4"], in: folder)
            #expect(outcome.status == 1)
            #expect(outcome.errors == passed + "; those were all the runs allowed; a smaller list may do (--runs)\n")
        }
    }

    @Test func `is interrupted in the last run: an earlier journal stays as it was`() async throws {
        try await withJournal { folder in
            let earlier = folder.appendingPathComponent("shrunk.jsonl")
            try Data("old".utf8).write(to: earlier)
            let script = """
                echo run >> runs
                case $(grep -c run runs) in 1) exit 1;; 2) exit 0;; esac
                echo begun > pipe; sleep 1000
                """
            try await withSearch(script, ["--runs", "3"], in: folder) { search, _ in
                search.signal(SIGINT)
                let outcome = await search.finish()
                #expect(outcome.status == 1)
                #expect(outcome.errors == "squall: interrupted before a smaller list of faults was found\n")
                #expect(try String(contentsOf: earlier, encoding: .utf8) == "old")
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(names.sorted() == ["journal.jsonl", "pipe", "runs", "shrunk.jsonl"])
            }
        }
    }

    @Test func `has no terminal to ask, and isn't stopped for it`() async throws {
        try await withJournal { folder in
            let line =
                "'\(Programs.squall.path)' shrink journal.jsonl --patience 30s -- sh -c '(read x </dev/tty); exit 0'"
            let outcome = try await withChild(Programs.find("script"), ["-qec", line, "/dev/null"], folder: folder) {
                await $0.finish()
            }
            #expect(outcome.output.contains("the command doesn't fail with all 40 faults of the journal"), "\(outcome)")
        }
    }

    @Test func `may open as many files as the search could when it began`() async throws {
        try await withJournal { folder in
            let arguments = ["shrink", "journal.jsonl", "--", "sh", "-c", "test $(ulimit -n) = 500"]
            let script = "ulimit -S -n 500 && exec \"$0\" \"$@\""
            let outcome = try await withChild(
                Programs.find("sh"),
                ["-c", script, Programs.squall.path] + arguments,
                folder: folder
            ) { await $0.finish() }
            #expect(outcome.errors == ShrinkCommandTests.passes)
        }
    }

    @Test func `isn't run when the result can't be written`() async throws {
        try await withJournal { folder in
            let outcome = try await shrink("touch ran", ["--output", "nodir/x"], in: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.hasPrefix("squall: can't write “nodir/x.json”: No such file or directory"))
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("ran").path))
            let journal = folder.appendingPathComponent("there.jsonl")
            try FileManager.default.createDirectory(at: journal, withIntermediateDirectories: false)
            let taken = try await shrink("touch ran", ["--output", "there"], in: folder)
            #expect(taken.status == 2)
            #expect(taken.errors.hasPrefix("squall: can't write “there.jsonl”: Is a directory"))
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("ran").path))
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("there.json").path))
        }
    }

    @Test func `leaves an earlier result alone as long as there is no new one`() async throws {
        try await withJournal { folder in
            let files = ["json", "jsonl"].map { folder.appendingPathComponent("shrunk.\($0)") }
            for file in files { try Data("old".utf8).write(to: file) }
            let outcome = try await shrink("exit 0", in: folder)
            #expect(outcome.errors == ShrinkCommandTests.passes)
            for file in files { #expect(try String(contentsOf: file, encoding: .utf8) == "old") }
        }
    }

    @Test func `stands behind everything else in the help`() async throws {
        let help = try await squall("help", "shrink")
        let usage = try #require(help.lines.first { $0.hasPrefix("USAGE: ") })
        #expect(usage.hasSuffix(" -- <command> ..."))
        for option in HelpTests.options["shrink"] ?? [] { #expect(usage.contains("[\(option) "), "\(option)") }
    }
}
