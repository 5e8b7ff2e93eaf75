import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol
import Units

/// What a download works with: its limits, the network, and where its tasks run.
struct DownloadSurroundings: Sendable {
    var configuration: TransferClientConfiguration
    /// Where the waits between attempts are drawn from.
    var seed: UInt64
    /// Makes the connection for one request, with what is left until the deadline.
    var exchange: @Sendable (_ remaining: Duration?) -> any DownloadExchanging
    /// The questions that it asks its caller.
    var callbacks = TransferCallbacks()
    /// Where tasks beside the download run; `nil` for the usual place.
    var executor: (any TaskExecutor)?
}

/// One request of a download and its response.
protocol DownloadExchanging: Sendable {
    /// Sends the request, with `fields` in addition to its own or in their place, and hands the response's parts to
    /// `receive`; nothing is left open when it returns.
    ///
    /// Throws what `receive` throws, and whatever kept the request from being answered; `DownloadExchange.setback(of:)` names
    /// it.
    func perform<Outcome: Sendable>(
        _ ask: DownloadAsk,
        at url: DownloadURL,
        with fields: [HTTPField],
        receive: (DownloadExchange.Parts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome
}

extension DownloadExchange: DownloadExchanging {}
