import HTTPTransport
import NIOCore
import NIOHTTP1
import ResumableUploads

/// Serves the requests of one connection.
struct ConnectionService: Sendable {
    let responder: Responder
    /// The upload service; `nil` for a connection without uploads.
    let uploads: UploadEndpoint?
    /// Whether the connection is beyond the limit and only gets a 503.
    let isRefused: Bool

    private var limits: OriginLimits { responder.configuration.limits }

    /// Serves HTTP/1.1, one request at a time.
    func configureHTTP1(on channel: any Channel) throws {
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = limits.headBytes
        decoding.maxHeaderListSize = limits.headBytes
        decoding.maxHeaderFieldCount = limits.headFields
        let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoding)
        let progress = RequestProgress()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(ByteArrivalHandler())
        try pipeline.addHandler(HTTPResponseEncoder())
        try pipeline.addHandler(RequestLineHandler(progress))
        try pipeline.addHandler(ByteToMessageHandler(decoder))
        try pipeline.addHandler(RequestProgressHandler(progress))
        try pipeline.addHandler(HTTPServerPipelineHandler())
        try pipeline.addHandler(HTTP1Adapter(progress, isSecure: responder.configuration.tls != nil))
        try serve(on: channel, progress)
    }

    /// Serves HTTP/2, one request per stream.
    func configureHTTP2(on channel: any Channel, _ tls: any ServerTLS) throws {
        let limits = HTTP2Limits(
            streams: limits.concurrentRequests,
            headBytes: limits.headBytes,
            window: limits.uploadBufferBytes,
            idleTimeout: limits.idleTimeout
        )
        try tls.startHTTP2(on: channel, limits) { stream in
            try serve(on: stream, RequestProgress())
            guard isRefused else { return }
            // The stream is only counted after this call.
            channel.eventLoop.execute { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        }
    }

    /// Adds the request handlers to a channel.
    private func serve(on channel: any Channel, _ progress: RequestProgress) throws {
        let pipeline = channel.pipeline.syncOperations
        if let uploads {
            let host = OriginUploads(uploads: uploads, server: responder.configuration, progress: progress)
            try pipeline.addHandler(ResumableUploadHandler(host: host))
        }
        try pipeline.addHandler(
            RequestHandler(
                limits: limits,
                isRefused: isRefused,
                now: channel.eventLoop.now,
                progress: progress
            ) { [responder] request, channel in
                await responder.respond(request, on: channel)
            }
        )
    }
}
