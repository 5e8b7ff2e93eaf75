import ArgumentParser
import Journal
import ProxyRunners
import TerminalDisplay

/// `squall journal`: prints a journal so that runs compare by `diff`.
struct JournalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Print a journal, sorted or without its times, so that two runs compare by diff.",
        discussion: """
            The lines of a journal are in the order in which faults acted, and how those of different connections fall \
            between each other depends on the machine. --sort puts them in one order: by proxy, connection, direction, \
            request, offset, fault, and by what the fault did; lines without one of these come first. Lines about another \
            profile keep their place. The result is a journal too.

            Example: squall journal --sort --no-times journal.jsonl > sorted.jsonl
            """
    )

    @Argument(help: ArgumentHelp("The journal.", valueName: "journal"), completion: .file())
    var recording: String

    @Flag(help: "Sort the lines.")
    var sort = false

    @Flag(name: .customLong("no-times"), help: "Leave out the times, of the header too, and the numbers of processes.")
    var omitsTimes = false

    func run() throws {
        let lines = try JournalFile.lines(of: recording, JournalSorting(isSorted: sort, hasTimes: !omitsTimes))
        Console.print(file: lines.joined(separator: "\n"))
    }
}
