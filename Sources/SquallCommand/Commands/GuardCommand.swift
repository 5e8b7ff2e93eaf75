import ArgumentParser
import OperatingSystem

/// `squall guard`: the process that runs a command of `squall test`. Not for people.
struct GuardCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guard",
        abstract: "Run a command of squall test; standard input is a socket of it.",
        shouldDisplay: false
    )

    @Argument(help: "The folder of the run.")
    var folder: String

    func run() {
        CommandGuard.run(folder: folder)
    }
}
