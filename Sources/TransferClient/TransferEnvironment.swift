import DurableFiles
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOPosix
import TransferProtocol

/// The dependencies of transfers: limits and clock, connections, files, and executors.
struct TransferEnvironment: Sendable {
    var configuration: TransferClientConfiguration
    private let makeConnections: @Sendable (TransferClientConfiguration, TransferDirection) -> any RequestSending
    var files: any FileSystem = SystemFiles()
    /// Runs file calls.
    var worker: FileWorker
    /// The connections of single requests.
    var kept: KeptConnections
    /// The executor of concurrent tasks; `nil` for the default.
    var executor: (any TaskExecutor)?

    /// The environment of a client.
    init(_ configuration: TransferClientConfiguration, _ group: any EventLoopGroup, _ pool: NIOThreadPool) {
        self.configuration = configuration
        makeConnections = { HTTPConnections(configuration: $0, direction: $1, group: group) }
        kept = KeptConnections(group)
        worker = FileWorker(pool: pool)
    }

    /// An environment without the system's network and files; file calls run inline.
    init(
        _ configuration: TransferClientConfiguration,
        connections: any RequestSending,
        files: any FileSystem,
        executor: (any TaskExecutor)? = nil
    ) {
        self.configuration = configuration
        makeConnections = { _, _ in connections }
        kept = KeptConnections(.singletonMultiThreadedEventLoopGroup)
        self.files = files
        worker = FileWorker(pool: nil)
        self.executor = executor
    }

    /// The connections of one transfer.
    func connections(_ direction: TransferDirection) -> any RequestSending { makeConnections(configuration, direction) }
}

/// The direction of a transfer's content.
enum TransferDirection: Sendable {
    case download
    case upload
}

/// Sends requests and reads their responses.
protocol RequestSending: Sendable {
    /// Sends a request, concurrent with `receive`, which gets the parts of all responses including interim ones. Leaves
    /// nothing open when it returns.
    ///
    /// Throws the errors of `receive` and of the connection; `AttemptFailure` classifies them.
    ///
    /// - Parameter remaining: The time left until the transfer's deadline, including connecting; `nil` without one.
    func send<Outcome: Sendable>(
        _ request: HTTPRequest,
        to url: TransferURL,
        _ content: UploadBodyWriter?,
        within remaining: Duration?,
        receive: (ResponseParts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome
}

/// The parts of the responses to a request: heads, body parts, and the end with the trailers.
typealias ResponseParts = NIOAsyncChannelInboundStream<HTTPResponsePart>

extension TransferURL {
    /// Parses a URL.
    package init(checked text: String) throws(TransferError) {
        do throws(TransferURLProblem) {
            self = try TransferURL(text)
        } catch {
            throw .invalidURL(text, error)
        }
    }
}
