import ArgumentParser
import FoundationEssentials
import OperatingSystem
import ProfileFiles
import TerminalDisplay

/// `squall queue enable`: a unit of systemd for this user.
struct QueueEnable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Have systemd run the queue's daemon for you, from the next login on and now.",
        discussion: "Writes squall-queue.service into your units, and enables it by systemctl --user."
    )

    @OptionGroup var daemon: QueueDaemonOptions

    @Flag(help: "Print the unit, and do nothing.")
    var print = false

    @OptionGroup var options: QueueOptions

    func run() async throws {
        let place = try QueuePlace(options.name)
        let unit = try QueueUnit(
            program: Self.program(),
            arguments: ["--name", place.name] + daemon.arguments,
            environment: ProcessInfo.processInfo.environment
        )
        guard !print else { return Console.print(lines: unit.text) }
        let name = place.name == "default" ? "squall-queue.service" : "squall-queue-\(place.name).service"
        let folder = try Self.units()
        try CommandFailure.attempting("can't write “\(folder)/\(name)”") {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try (unit.text + "\n").write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        }
        for arguments in [["daemon-reload"], ["enable", "--now", name]] {
            let words = ["systemctl", "--user"] + arguments
            let child = try CommandFailure.attempting("wrote “\(folder)/\(name)”, and can't run systemctl") {
                try ChildProcess(words, environment: ProcessInfo.processInfo.environment)
            }
            guard await child.end() == .exit(0) else {
                throw CommandFailure.failed(
                    "wrote “\(folder)/\(name)”, and “\(words.joined(separator: " "))” failed: run it yourself"
                )
            }
        }
        Console.print("enabled \(name); “loginctl enable-linger” has it run without a login, too")
    }

    private static func program() throws(CommandFailure) -> String {
        try CommandFailure.attempting("can't tell where this program is") {
            try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        }
    }

    private static func units() throws(CommandFailure) -> String {
        if let folder = UserFolders.settings { return folder + "/systemd/user" }
        throw .wrongInput("there is no home for the unit: set HOME")
    }
}

/// The text of a unit, see systemd.service(5).
struct QueueUnit {
    let text: String

    /// Makes the unit of a daemon, with the folders of this environment.
    ///
    /// - Throws: A failure if a word can't be in a unit.
    init(program: String, arguments: [String], environment: [String: String]) throws(CommandFailure) {
        var words: [String] = []
        for word in [program, "queue", "serve", "--stay"] + arguments {
            words.append(try Self.quoted(word).replacing("$", with: "$$"))
        }
        var settings = ""
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            if let value = environment[name] { settings += "Environment=\(try Self.quoted("\(name)=\(value)"))\n" }
        }
        text = """
            [Unit]
            Description=Transfers of squall queue

            [Service]
            \(settings)ExecStart=\(words.joined(separator: " "))
            Restart=on-failure
            RestartSec=30

            [Install]
            WantedBy=default.target
            """
    }

    private static func quoted(_ word: String) throws(CommandFailure) -> String {
        guard !word.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw .wrongInput("a unit can't have a control character, as in “\(word.visibleLine)”")
        }
        let escaped = word.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("%", with: "%%")
        return "\"\(escaped)\""
    }
}
