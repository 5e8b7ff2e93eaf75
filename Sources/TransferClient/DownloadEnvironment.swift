import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol
import Units

/// The dependencies of a download: limits, network, and executor.
struct DownloadEnvironment: Sendable {
    var configuration: TransferClientConfiguration
    /// The seed for backoff jitter.
    var seed: UInt64
    /// Makes the connection for one request, given the time until the deadline.
    var httpAttempt: @Sendable (_ remaining: Duration?) -> any DownloadAttempting
    /// The caller's callbacks.
    var callbacks = TransferCallbacks()
    /// The executor of concurrent tasks; `nil` for the default.
    var executor: (any TaskExecutor)?
}

/// A request of a download and its response.
protocol DownloadAttempting: Sendable {
    /// Sends the request, with `fields` added to or replacing its own, and passes the response parts to `receive`.
    /// Leaves nothing open when it returns.
    ///
    /// Throws the errors of `receive` and of the connection; `HTTPAttempt.cause(of:)` classifies them.
    func perform<Outcome: Sendable>(
        _ plan: RequestPlan,
        at url: DownloadURL,
        with fields: [HTTPField],
        receive: (HTTPAttempt.Parts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome
}

extension HTTPAttempt: DownloadAttempting {}
