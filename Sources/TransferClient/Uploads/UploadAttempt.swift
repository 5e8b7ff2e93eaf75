import Glibc
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOPosix
import TransferProtocol

/// One request with its content and all its responses, on a fresh connection.
struct UploadAttempt: Sendable {
    let connector: HTTPAttempt
    let limits: UploadTimeoutLimits

    /// Sends the request, concurrent with `receive`, which gets the parts of all responses including interim ones.
    /// Closes the connection when it returns.
    ///
    /// Throws the errors of `receive` and of the connection.
    func perform<Outcome: Sendable>(
        _ request: HTTPRequest,
        at url: DownloadURL,
        _ sending: UploadBodyWriter?,
        beforeCompletion: @escaping @Sendable () async throws(UploadError) -> Void,
        onProgress: @escaping @Sendable (Int64) -> Void,
        receive: (HTTPAttempt.Parts) async throws -> Outcome
    ) async throws -> Outcome {
        let (limits, verdict) = (limits, AttemptErrorBox())
        let connection = try await connector.connect(to: url) { UploadTimeoutHandler(limits: limits, verdict: verdict) }
        let channel = connection.channel
        let request = connection.prepared(request)
        // Limits unsent bytes in the kernel, which would count as progress. Optional: only some systems have the
        // option.
        let unsent = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_NOTSENT_LOWAT))
        try? await connection.socket.setOption(unsent, value: Self.maximumUnsentBytes).get()
        let wrapped: NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart>
        do {
            wrapped = try await channel.eventLoop.submit { try HTTPAttempt.wrap(channel) }.get()
        } catch {
            channel.close(promise: nil)
            throw verdict.error ?? connector.explained(error)
        }
        return try await connector.noting {
            try await wrapped.executeThenClose { inbound, outbound in
                guard let sending else {
                    // A server may respond and close before it has read the request.
                    try? await outbound.write(contentsOf: [.head(request), .end(nil)])
                    return try await receive(inbound)
                }
                try? await outbound.write(.head(request))
                async let _: Void = sending.run(
                    through: outbound,
                    of: channel,
                    beforeCompletion: beforeCompletion,
                    onProgress: onProgress
                )
                return try await receive(inbound)
            }
        }
    }

    /// The maximum number of unsent bytes in the kernel.
    private static let maximumUnsentBytes = 256 << 10
}
