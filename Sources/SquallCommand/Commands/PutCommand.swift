import ArgumentParser
import CommandParsing
import EventLoop
import HTTPTypes
import OperatingSystem
import ProxyRuntime
import SystemPackage
import TerminalDisplay
import TransferClient
import TransferProtocol
import TransferReports
import Units

/// `squall put`: the resumable upload.
struct PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Upload a file over HTTP through any number of broken connections, and say what proves its arrival.",
        discussion: """
            Speaks the IETF drafts of resumable uploads; where the server does, an upload that was broken off, also \
            when the program is killed, goes on when the same command is run again. Otherwise it is an ordinary \
            upload. Exits with 75 when it gave up for now.

            Credentials go to the server of the URL alone, not to one that it redirects to or names, and are never shown or \
            kept. A server that refuses them is exit code 1; a run with others goes on.

            Example: squall put file.bin http://127.0.0.1:8081/file.bin
            """
    )

    @Argument(help: "The file to upload.", completion: .file())
    var file: String

    @Argument(help: "An http:// or https:// URL.")
    var url: String

    @Option(
        help: ArgumentHelp(
            "The draft of resumable uploads: auto, an interop version (3, 5, 6, 8, 9 or 10), or none.",
            valueName: "dialect"
        )
    )
    var dialect = PutDialect.automatic

    @Option(help: ArgumentHelp("The method: PUT or POST.", valueName: "method"))
    var method = PutMethod.put

    @Flag(help: "Sending the whole of a POST twice is harmless.")
    var repeatable = false

    @Option(help: ArgumentHelp("The media type of the file.", valueName: "type"))
    var contentType = "application/octet-stream"

    @OptionGroup var credentials: CredentialOptions

    @OptionGroup var tls: TLSOptions

    @OptionGroup var network: NetworkOptions

    @Option(help: ArgumentHelp("Attempts in a row without progress before it gives up.", valueName: "count"))
    var attempts = 10

    @Option(help: "The seed of the waits between attempts.")
    var seed: UInt64?

    @Option(
        help: ArgumentHelp(
            "The folder for the memory of unfinished uploads; without it one in your home.",
            valueName: "folder"
        )
    )
    var state: String?

    @Option(help: ArgumentHelp("How events are told.", valueName: "format"))
    var events = EventFormat.text

    func validate() throws {
        guard attempts > 0 else { throw ValidationError("--attempts is at least 1") }
        guard HTTPField.isValidValue(contentType), !contentType.isEmpty else {
            throw ValidationError("--content-type takes a media type, such as text/plain")
        }
    }

    func run() async throws {
        let request = try request()
        var configuration = TransferClientConfiguration()
        configuration.retry.maximumAttempts = attempts
        if let seed { configuration.seed = seed }
        configuration.tls = try tls.client()
        try network.apply(to: &configuration)
        let interrupt: Interrupt
        do throws(SystemError) {
            interrupt = try await Interrupt.watch(on: EventLoop())
        } catch {
            throw CommandFailure.failed("can't watch for signals: \(error)")
        }
        let client = TransferEngine(configuration: configuration)
        let live = LiveProgress()
        let format = events
        let path = FilePath(file)
        let upload = Task { () async -> Result<TransferSummary, TransferError> in
            do throws(TransferError) {
                let summary = try await client.upload(client.content(of: path), request) { event in
                    switch format {
                    case .json: EventFormat.writeJSON(TransferEventJSON(event))
                    case .text: live.note(event)
                    }
                }
                return .success(summary)
            } catch {
                return .failure(error)
            }
        }
        Task {
            await interrupt.wait()
            upload.cancel()
        }
        let result = format == .text ? await live.follow(upload) : await upload.value
        try report(result)
    }

    private func request() throws(CommandFailure) -> UploadRequest {
        var request = UploadRequest(url: url, journalFolder: try StateFolder.uploads(state))
        request.method = method.method
        request.dialects = dialect.choice
        request.isRepeatable = repeatable
        request.fields = [.contentType: contentType]
        request.credentials = try credentials.credentials(forUpload: true)
        return request
    }

    private func report(_ result: Result<TransferSummary, TransferError>) throws(CommandFailure) {
        switch result {
        case .success(let summary):
            guard events == .text else { return }
            let repeated = summary.bytesRepeated
            Console.print(
                lines: """
                    \(file.visibleLine): \(Formatting.grouped(summary.bytes)) bytes in \
                    \(Formatting.seconds(summary.duration).trimmingPrefix { $0 == " " }), \
                    \(summary.connections) connection\(summary.connections == 1 ? "" : "s"), \
                    \(Formatting.grouped(repeated)) bytes sent twice (\(Formatting.percent(repeated, of: summary.bytes)))
                    sha256 \(summary.sha256.hexadecimal) (\(summary.upload?.proofDescription ?? ""))
                    """
            )
        case .failure(let error):
            if events == .json { EventFormat.writeJSON(TransferEventJSON(error)) }
            throw CommandFailure(code: ExitStatus(error.disposition), message: error.sentence)
        }
    }
}

extension ExitStatus {
    /// Maps an error's disposition to an exit code.
    init(_ disposition: TransferError.Disposition) {
        switch disposition {
        case .resumable: self = .resumable
        case .final: self = .failed
        case .invalidInput: self = .wrongInput
        }
    }
}

/// The value of `--dialect`.
enum PutDialect: ExpressibleByArgument {
    case automatic, none
    case only(UploadDialect)

    init?(argument: String) {
        switch argument {
        case "auto": self = .automatic
        case "none": self = .none
        default:
            // Each version has one spelling: neither “+6” nor “06”.
            guard let dialect = UploadDialect.allCases.first(where: { $0.interopVersionValue == argument }) else {
                return nil
            }
            self = .only(dialect)
        }
    }

    static var allValueStrings: [String] { ["auto", "none"] + UploadDialect.allCases.map(\.interopVersionValue) }

    var defaultValueDescription: String {
        switch self {
        case .automatic: "auto"
        case .none: "none"
        case .only(let dialect): dialect.interopVersionValue
        }
    }

    /// The dialects that the upload may use.
    var choice: UploadDialectChoice {
        switch self {
        case .automatic: .automatic
        case .none: .none
        case .only(let dialect): .only(dialect)
        }
    }
}

/// The value of `--method`.
enum PutMethod: String, ExpressibleByArgument {
    case put = "PUT"
    case post = "POST"

    /// The HTTP method.
    var method: HTTPRequest.Method {
        switch self {
        case .put: .put
        case .post: .post
        }
    }
}
