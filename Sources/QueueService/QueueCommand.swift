import ArgumentParser
import CommandParsing
import FaultProfile
import TerminalDisplay
import TransferQueue

/// `squall queue`: transfers that outlive the program that asked for them.
package struct QueueCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Transfers in the background: they outlive this program, and a restart of the machine.",
        discussion: """
            A job is in a log before submit returns. A daemon of yours runs it, which the first submit starts, and which ends \
            when it has had nothing to do for 10 minutes. It tries again at growing intervals, resumes where it can, and waits \
            for a network, a window of the day or a login.

            Example: squall queue submit https://example.com/a.iso --window 22:00-06:00
            """,
        subcommands: [
            QueueSubmit.self, QueueStatus.self, QueueAttach.self, QueuePause.self, QueueResume.self, QueueCancel.self,
            QueuePriority.self, QueueLogs.self, QueuePrune.self, QueueServe.self, QueueEnable.self,
        ]
    )

    package init() {}
}

/// The queue that a command is for.
struct QueueOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The queue; each has a daemon and jobs of its own.", valueName: "name"))
    var name = "default"

    func client() throws -> QueueClient { QueueClient(place: try QueuePlace(name)) }
}

/// A queue of this user, for those who only look.
package struct QueueListing: Sendable {
    private let client: QueueClient

    /// The queue with a name; its daemon needn't run.
    package init(named name: String) throws(CommandFailure) { client = QueueClient(place: try QueuePlace(name)) }

    /// The jobs as JSON, by their numbers. Starts no daemon.
    package func jobs() async throws -> [JSONText] { try await client.statuses().statuses.map(\.json) }
}

/// The number of a job, as an argument.
extension QueueJobID: ExpressibleByArgument {
    /// Reads a number above zero.
    public init?(argument: String) {
        guard let number = UInt64(argument), number > 0 else { return nil }
        self.init(number)
    }
}

/// Headers and their secrets, as options.
struct QueueHeaderOptions: ParsableArguments {
    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp(
            "A field to send with each request. Its value stays in the daemon's memory: after a restart the job asks for it.",
            valueName: "field"
        )
    )
    var header: [String] = []

    @Option(
        help: ArgumentHelp(
            "A field whose value is the first line of a file, read at each start: 'Authorization=token.txt'.",
            valueName: "name=file"
        )
    )
    var headerFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "A field whose value is a variable of the daemon's environment: 'Authorization=TOKEN'.",
            valueName: "name=variable"
        )
    )
    var headerEnv: [String] = []

    @Option(
        help: ArgumentHelp("Look names and passwords up in this file, by host, at each start.", valueName: "file"),
        completion: .file()
    )
    var netrcFile: String?

    /// The headers, and the values of those in memory.
    func headers() throws -> (headers: [QueueHeader], secrets: [String: String]) {
        var headers: [QueueHeader] = []
        var secrets: [String: String] = [:]
        for text in header {
            guard let colon = text.firstIndex(of: ":") else {
                throw CommandFailure.wrongInput("--header: there is no colon: write 'Name: value'")
            }
            let name = String(text[..<colon])
            headers.append(QueueHeader(name, .memory))
            secrets[name] = String(text[text.index(after: colon)...].drop { $0 == " " })
        }
        for text in headerFile {
            let (name, file) = try Self.pair(text, "--header-file")
            headers.append(QueueHeader(name, .file(AbsolutePath.of(file))))
        }
        for text in headerEnv {
            let (name, variable) = try Self.pair(text, "--header-env")
            headers.append(QueueHeader(name, .environment(variable)))
        }
        return (headers, secrets)
    }

    private static func pair(_ text: String, _ option: String) throws -> (String, String) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw CommandFailure.wrongInput("\(option): write NAME=VALUE") }
        return (parts[0], parts[1])
    }
}
