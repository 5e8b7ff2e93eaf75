import ArgumentParser
import CommandParsing
import HTTPTypes
import SquallTransfer
import TerminalDisplay
import TransferReports

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
        ),
        completion: .list(TransferRequest.dialectNames)
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
        ),
        completion: .directory
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
        guard file != "-" else {
            throw CommandFailure.wrongInput("can't read from standard input; use ./- for a file of that name")
        }
        var request = TransferRequest(url)
        request.method = method.method
        request.allow(dialect: dialect.name)
        request.isRepeatable = repeatable
        request.contentType = contentType
        try credentials.apply(to: &request, forUpload: true)
        var configuration = TransferConfiguration()
        configuration.maximumAttempts = attempts
        configuration.seed = seed
        configuration.tls = try tls.settings()
        configuration.stateFolder = try StateFolder.uploads(state).string
        try network.apply(to: &configuration)
        let run = try await TransferRun(events)
        run.show(&request)
        let session = TransferSession(configuration: configuration)
        let result = try await run.result(of: session.upload(for: request, from: file))
        guard events == .text else { return }
        TransferRun.tellEnd(
            file,
            result.bytes,
            result.duration,
            connections: result.connections,
            repeated: result.bytesRepeated,
            result.sha256,
            result.summary.upload?.proofDescription ?? ""
        )
    }
}

/// The value of `--dialect`.
struct PutDialect: ExpressibleByArgument {
    static let automatic = PutDialect(name: "auto")

    /// One of `TransferRequest.dialectNames`: each version has one spelling, neither “+6” nor “06”.
    let name: String

    private init(name: String) { self.name = name }

    init?(argument: String) {
        guard Self.allValueStrings.contains(argument) else { return nil }
        name = argument
    }

    static var allValueStrings: [String] { TransferRequest.dialectNames }
    var defaultValueDescription: String { name }
}

/// The value of `--method`.
enum PutMethod: String, CaseIterable, ExpressibleByArgument {
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
