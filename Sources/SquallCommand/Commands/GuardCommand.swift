import ArgumentParser
import OperatingSystem

/// `squall guard`: the process that runs a command of `squall test` or `squall exec`. Not for people.
struct GuardCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guard",
        abstract: "Run a command of squall test, whose socket is standard input, or of squall exec.",
        shouldDisplay: false
    )

    @Argument(help: "The folder of the run, which is removed at its end.")
    var folder: String?

    @Argument(parsing: .postTerminator, help: "The command of squall exec, behind --.")
    var command: [String] = []

    @Flag(help: "Whether the connections of the command are supervised.")
    var supervised = false

    @Option(help: "The descriptor of the socket, for a command of squall exec.")
    var channel: Int32?

    func run() {
        if let channel {
            ForegroundCommand.runGuard(command, channel: channel, folder: folder)
        } else if let folder {
            CommandGuard.run(folder: folder, isSupervised: supervised)
        }
    }
}
