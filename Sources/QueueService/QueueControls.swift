import ArgumentParser
import CommandParsing
import FoundationEssentials
import TerminalDisplay
import TransferQueue
import Units

/// `squall queue status`: shows jobs.
struct QueueStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show all jobs, or one. If no daemon runs, show the jobs in the log; none is started."
    )

    @Argument(help: "The number of a job.")
    var job: QueueJobID?

    @Option(help: ArgumentHelp("How jobs are shown.", valueName: "format"))
    var events = EventFormat.text

    @OptionGroup var options: QueueOptions

    func run() async throws {
        var (statuses, isRunning) = try await options.client().statuses(of: job)
        if !isRunning {
            if let job {
                statuses = statuses.filter { $0.id == job }
                guard !statuses.isEmpty else { throw CommandFailure.wrongInput("there is no job \(job)") }
            }
            if statuses.contains(where: { !$0.phase.isFinal }) {
                Console.warn("no daemon runs: the next submit or attach starts one, which goes on with these jobs")
            }
        }
        switch events {
        case .json: for status in statuses { Console.print(status.json.compact) }
        case .text: QueueDisplay.show(statuses)
        }
    }
}

/// `squall queue attach`: follows jobs.
struct QueueAttach: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attach",
        abstract: "Follow all jobs, or one, until they have ended. Ctrl-C ends this command, not the jobs.",
        discussion: "Exits with 1 if one has failed, was cancelled, or was pruned before its end was shown."
    )

    @Argument(help: "The number of a job.")
    var job: QueueJobID?

    @Option(help: ArgumentHelp("The format of changes.", valueName: "format"))
    var events = EventFormat.text

    @OptionGroup var options: QueueOptions

    func run() async throws { try await QueueDisplay(try options.client(), job, format: events).follow() }
}

/// The jobs of a command that does the same with each.
struct QueueJobs: ParsableArguments {
    @Argument(help: "The numbers of the jobs.")
    var jobs: [QueueJobID]

    @OptionGroup var options: QueueOptions

    /// Makes a call for each job, also after one that has failed for its job. Throws all failures together.
    func call(_ call: (QueueJobID) -> QueueCall) async throws {
        let client = try options.client()
        var problems: [String] = []
        for job in jobs {
            do {
                try await client.call(call(job))
            } catch let failure as CommandFailure {
                // Without a queue it is the same for all.
                if !problems.contains(failure.message) { problems.append(failure.message) }
                guard failure.code == .wrongInput else {
                    throw CommandFailure.failed(problems.joined(separator: "; "))
                }
            }
        }
        guard problems.isEmpty else { throw CommandFailure.wrongInput(problems.joined(separator: "; ")) }
    }
}

/// `squall queue pause`: stops jobs.
struct QueuePause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop jobs until they are resumed; what they have stays."
    )

    @OptionGroup var jobs: QueueJobs

    func run() async throws { try await jobs.call(QueueCall.pause) }
}

/// `squall queue resume`: tries a job again.
struct QueueResume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Try a job again now, also one that has failed, with what it lacked.",
        discussion: "Example: squall queue resume 7 --url https://example.com/image.iso?signature=new"
    )

    @Argument(help: "The number of the job.")
    var job: QueueJobID

    @Option(help: ArgumentHelp("Another URL, such as for one that has expired.", valueName: "url"))
    var url: String?

    @OptionGroup var headers: QueueHeaderOptions

    @OptionGroup var options: QueueOptions

    func run() async throws {
        var change = QueueChange()
        change.url = url
        change.netrc = headers.netrcFile.map { AbsolutePath.of($0) }
        let (fields, secrets) = try headers.headers()
        change.headers = fields
        try await options.client().call(.resume(job, change, secrets: secrets))
    }
}

/// `squall queue cancel`: ends jobs.
struct QueueCancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "End jobs for good, and remove what they have left."
    )

    @OptionGroup var jobs: QueueJobs

    func run() async throws { try await jobs.call(QueueCall.cancel) }
}

/// `squall queue priority`: changes the order.
struct QueuePriority: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "priority",
        abstract: "Change the priority of a job, which counts when the next job starts."
    )

    @Argument(help: "The number of the job.")
    var job: QueueJobID

    @Argument(help: "From -100 to 100; higher ones start first.")
    var priority: Int

    @OptionGroup var options: QueueOptions

    func validate() throws { try Self.check(priority) }

    func run() async throws { try await options.client().call(.prioritize(job, priority)) }

    /// Throws a usage error for a priority that no job has.
    static func check(_ priority: Int) throws {
        guard (-100...100).contains(priority) else { throw ValidationError("a priority is from -100 to 100") }
    }
}

/// `squall queue logs`: shows the daemon's log.
struct QueueLogs: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Show the newest lines of the daemon's log."
    )

    @Option(help: ArgumentHelp("The most lines.", valueName: "count"))
    var lines = 100

    @OptionGroup var options: QueueOptions

    func validate() throws {
        guard lines > 0 else { throw ValidationError("--lines is at least 1") }
    }

    func run() throws {
        for line in BoundedLog.lines(of: try QueuePlace(options.name).log, count: lines) { Console.print(String(line)) }
    }
}

/// `squall queue prune`: forgets finished jobs.
struct QueuePrune: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Forget the jobs that are complete, have failed or were cancelled."
    )

    @OptionGroup var options: QueueOptions

    func run() async throws {
        try await options.client().call(.prune(undelivered: true)) { answer in
            if case .pruned(let count) = answer { Console.print("forgot \(count) job\(count == 1 ? "" : "s")") }
            return true
        }
    }
}
