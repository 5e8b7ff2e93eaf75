import Glibc
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOPosix
import TransferProtocol

/// One connection, one request with its content, and all of its responses.
struct UploadExchange: Sendable {
    let connector: DownloadExchange
    let limits: UploadWatchLimits

    /// Sends the request, and the content beside `receive`, which is handed the parts of all responses, the
    /// informational ones included; the connection is closed when it returns.
    ///
    /// Throws what `receive` throws, and whatever kept the connection from being made.
    func perform<Outcome: Sendable>(
        _ request: HTTPRequest,
        at url: DownloadURL,
        _ sending: UploadSending?,
        beforeCompletion: @escaping @Sendable () async throws(UploadError) -> Void,
        onProgress: @escaping @Sendable (Int64) -> Void,
        receive: (DownloadExchange.Parts) async throws -> Outcome
    ) async throws -> Outcome {
        let (limits, verdict) = (limits, WatchVerdict())
        let connection = try await connector.connect(to: url) { UploadWatch(limits: limits, verdict: verdict) }
        let channel = connection.channel
        let request = connection.prepared(request)
        // Bytes that the kernel only keeps are no progress, so it keeps few. It is a wish: other systems don't know it.
        let unsent = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_NOTSENT_LOWAT))
        try? await connection.socket.setOption(unsent, value: Self.mostUnsent).get()
        let wrapped: NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart>
        do {
            wrapped = try await channel.eventLoop.submit { try DownloadExchange.wrap(channel) }.get()
        } catch {
            channel.close(promise: nil)
            throw verdict.error ?? connector.explained(error)
        }
        return try await connector.noting {
            try await wrapped.executeThenClose { inbound, outbound in
                guard let sending else {
                    // A server that answers and closes before it has read is still to be listened to.
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

    /// The bytes that may wait in the kernel unsent before it takes no more.
    private static let mostUnsent = 256 << 10
}
