import ArgumentParser
import FoundationEssentials
import Glibc
import OperatingSystem
import ProfileFiles
import TerminalDisplay

/// The option of the commands that can go on in the background.
struct DetachOptions: ParsableArguments {
    @Flag(
        help:
            "Return as soon as it listens, and go on in the background. Prints the process id and the path of its log."
    )
    var detach = false

    /// Throws a usage error if the journal would go to an output that nobody sees.
    func check(journal: String?) throws {
        guard detach, journal == "-" else { return }
        throw ValidationError("--journal - is standard output, which --detach leaves: write --journal FILE")
    }

    /// Starts this command line again in the background, and prints what it has said until it listens.
    ///
    /// - Parameter command: the subcommand, for the name of the log.
    /// - Returns: whether the command has been started, so that nothing is left to do here.
    /// - Throws: an exit code if the started command has failed; its errors are printed.
    func hasStarted(_ command: String) throws -> Bool {
        guard detach, !DetachedProgram.isSelf else { return false }
        let problem = "can't start in the background"
        let place = "\(UserFolders.temporary) (TMPDIR)"
        let (log, descriptor) = try CommandFailure.attempting("\(problem): no log in \(place)") {
            try DetachedProgram.makeLog(name: "squall-\(command)")
        }
        let start = try CommandFailure.attempting(problem) { try DetachedProgram.start(log: descriptor) }
        let said = ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").trimmedEnd
        switch start {
        case .ready(let process):
            guard !said.isEmpty else {
                DetachOptions.end(process, log)
                throw CommandFailure.failed("the log “\(log)” can't be written, which tells where it listens")
            }
            Console.print(lines: said)
            Console.print("detached: process \(process), which “kill \(process)” ends; its log is \(log)")
            // A process that nobody was told of must not stay. `Program` reports the failure.
            if Console.finish() != nil { DetachOptions.end(process, log) }
            return true
        case .ended(let end):
            try? FileManager.default.removeItem(atPath: log)
            Console.error(lines: said.isEmpty ? "squall: it ended before it listened, and wrote no log" : said)
            switch end {
            case .exit(let code): throw ExitCode(code == 0 ? ExitStatus.failed.rawValue : code)
            case .signal(let number): throw CommandFailure.failed("signal \(number) has ended it before it listened")
            }
        }
    }

    /// Ends a process of which nobody would know, and removes its log.
    private static func end(_ process: Int32, _ log: String) {
        DetachedProgram.end(process, by: SIGTERM)
        try? FileManager.default.removeItem(atPath: log)
    }
}

extension String {
    /// The text without the line end at its end.
    fileprivate var trimmedEnd: String { hasSuffix("\n") ? String(dropLast()) : self }
}
