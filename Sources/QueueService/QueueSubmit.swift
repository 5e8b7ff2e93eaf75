import ArgumentParser
import CommandParsing
import Digests
import FoundationEssentials
import ProfileFiles
import SystemPackage
import TerminalDisplay
import TransferProtocol
import TransferQueue
import Units

/// `squall queue submit`: adds a job.
struct QueueSubmit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Add a download, or with --upload an upload, and return when it is in the log.",
        discussion: """
            Prints the number of the job. Starts the queue's daemon if none runs; after a restart of the machine that goes on \
            with earlier jobs too.

            Example: squall queue submit https://example.com/image.iso --output image.iso
            """
    )

    @Argument(help: "An http:// or https:// URL.")
    var url: String

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "The file to write; without it the last part of the URL's path, decoded.",
            valueName: "file"
        ),
        completion: .file()
    )
    var output: String?

    @Option(help: ArgumentHelp("Upload this file to the URL.", valueName: "file"), completion: .file())
    var upload: String?

    @Option(help: ArgumentHelp("The method of an upload: PUT or POST.", valueName: "method"))
    var method: String?

    @Option(help: ArgumentHelp("The media type of an uploaded file.", valueName: "type"))
    var contentType: String?

    @Flag(help: "Sending the whole of a POST twice is harmless.")
    var repeatable = false

    @Option(help: ArgumentHelp("The SHA-256 that the file must have.", valueName: "hex"))
    var sha256: String?

    @Flag(help: "Fail when a complete download isn't proved.")
    var requireProof = false

    @OptionGroup var headers: QueueHeaderOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("From -100 to 100; higher ones start first.", valueName: "number")
    )
    var priority = 0

    @Flag(help: "Wait for a good time: alone, and on mains power.")
    var discretionary = false

    @Option(
        help: ArgumentHelp("Run only in this part of the day, by the local clock: 22:00-06:00.", valueName: "window"),
        transform: QueueSubmit.window
    )
    var window: DailyWindow?

    @Option(
        help: ArgumentHelp("Don't start before a time of RFC 3339, or one from now, as +2h.", valueName: "time"),
        transform: StartTime.init(argument:)
    )
    var after: StartTime?

    @Option(
        help: ArgumentHelp("The size to expect; smaller jobs start first.", valueName: "size"),
        transform: ArgumentReading.size
    )
    var expect: ByteCount?

    @Flag(help: "Use no expensive network: mobile broadband, and what the daemon's --metered names.")
    var noExpensive = false

    @Flag(help: "Use no network that the daemon's --constrained names.")
    var noConstrained = false

    @Option(
        help: ArgumentHelp("The time for the whole transfer. (default: 7 days)", valueName: "time"),
        transform: ArgumentReading.duration
    )
    var timeLimit: Duration?

    @Option(
        help: ArgumentHelp("The time for a request without progress. (default: 60 s)", valueName: "time"),
        transform: ArgumentReading.duration
    )
    var requestTimeLimit: Duration?

    @Option(help: ArgumentHelp("Failures in a row before it gives up; without it never.", valueName: "count"))
    var failures: Int?

    @Option(
        help: ArgumentHelp("The most bytes of the file a second: “2 MB/s”.", valueName: "rate"),
        transform: ArgumentReading.rate
    )
    var limitRate: BitRate?

    @Option(
        help: ArgumentHelp(
            "A command of sh to run in this folder when it is done, has failed, or needs something; see SQUALL_JOB and "
                + "SQUALL_PHASE in its environment.",
            valueName: "command"
        )
    )
    var onEvent: String?

    @Flag(help: "Wait until the job has ended. Ctrl-C ends the waiting, not the job.")
    var wait = false

    @OptionGroup var options: QueueOptions

    func validate() throws {
        guard upload == nil || output == nil else { throw ValidationError("--output and --upload exclude each other") }
        guard upload != nil || method == nil && contentType == nil && !repeatable else {
            throw ValidationError("--method, --content-type and --repeatable are for --upload")
        }
        guard method.map({ ["PUT", "POST"].contains($0) }) ?? true else {
            throw ValidationError("--method is PUT or POST")
        }
        try QueuePriority.check(priority)
        if let failures, failures < 1 { throw ValidationError("--failures is at least 1") }
        if let sha256, [UInt8](hexadecimal: sha256)?.count != 32 {
            throw ValidationError("--sha256 takes 64 hexadecimal digits")
        }
    }

    func run() async throws {
        let client = try options.client()
        let (transfer, secrets) = try transfer()
        var submitted: QueueJobID?
        try await client.call(.submit(transfer, secrets: secrets)) { answer in
            if case .submitted(let id) = answer { submitted = id }
            return true
        }
        guard let submitted else { throw CommandFailure.failed("the queue's daemon gave no number") }
        Console.print("\(submitted)")
        guard wait else { return }
        try await QueueDisplay(client, submitted, format: .text).follow()
    }

    private func transfer() throws -> (QueuedTransfer, secrets: [String: String]) {
        let file = try upload.map { AbsolutePath.of($0) } ?? destination()
        if let upload {
            do {
                _ = try FilePath(file).stat()
            } catch {
                throw CommandFailure.wrongInput("can't read “\(upload)” (--upload): \(FileProblem.reason(error))")
            }
        }
        var transfer = QueuedTransfer(upload == nil ? .download : .upload, url: url, file: file)
        let (fields, secrets) = try headers.headers()
        transfer.headers = fields
        transfer.netrc = headers.netrcFile.map { AbsolutePath.of($0) }
        transfer.method = method
        transfer.contentType = contentType
        transfer.isRepeatable = repeatable
        transfer.sha256 = sha256.flatMap { [UInt8](hexadecimal: $0) }
        transfer.requiresProof = requireProof
        transfer.priority = priority
        transfer.isDiscretionary = discretionary
        transfer.window = window
        if let expect {
            if upload == nil {
                transfer.expectedBytesToReceive = expect.bytes
            } else {
                transfer.expectedBytesToSend = expect.bytes
            }
        }
        switch after {
        case .at(let time): transfer.earliestBegin = QueueTime(milliseconds: time.nanoseconds / 1_000_000)
        case .after(let wait):
            let now = QueueTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
            transfer.earliestBegin = now + wait
        case nil: break
        }
        transfer.allowsExpensive = !noExpensive
        transfer.allowsConstrained = !noConstrained
        if let timeLimit { transfer.timeLimit = timeLimit }
        if let requestTimeLimit { transfer.requestTimeLimit = requestTimeLimit }
        transfer.maximumFailures = failures
        transfer.maximumRate = limitRate.map { max(1, $0.bitsPerSecond / 8) }
        // The daemon is in another folder.
        if let onEvent {
            let folder = FileManager.default.currentDirectoryPath
            transfer.command = ["/bin/sh", "-c", "cd -- \"$0\" && eval \"$1\"", folder, onEvent]
        }
        return (transfer, secrets)
    }

    private func destination() throws -> String {
        let file = if let output { output } else { try nameOfURL() }
        try InputFiles().check(writing: "the file", to: file)
        return AbsolutePath.of(file)
    }

    private func nameOfURL() throws -> String {
        let parsed: TransferURL
        do { parsed = try TransferURL(url) } catch { throw CommandFailure.wrongInput("“\(url.visibleLine)”: \(error)") }
        guard let name = parsed.fileName else {
            throw CommandFailure.wrongInput("the URL names no file to write to: give --output FILE")
        }
        return name
    }

    private static func window(_ text: String) throws -> DailyWindow {
        guard let window = DailyWindow(text) else {
            throw ValidationError("it is two different times of the day, such as 22:00-06:00")
        }
        return window
    }
}
