import Foundation
import Testing

/// What the command of `squall exec` has of Squall's caller.
@Suite(.timeLimit(.minutes(5))) struct ExecCallerTests {
    /// The options with which a command has the same of its caller.
    private static let options = ["", "--page --port 0", "--intercept localhost"]

    /// Runs a script of bash in which `$@` is `squall exec` with options, up to the command.
    private func bash(_ script: String, _ options: String) async throws -> Outcome {
        let words = [Programs.squall.path, "exec", "--latency", "1ms"] + options.split(separator: " ").map(String.init)
        let outcome = try await run("bash", ["-c", script, "bash"] + words + ["--"])
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
            #expect(outcome.errors.isEmpty, "a make without the tasks of its caller warns")
        }
    }
}
