#if Hummingbird

    import HTTPTypes
    public import Hummingbird
    public import HummingbirdCore
    public import Logging
    import NIOCore
    public import ResumableUploads
    import Synchronization

    extension ResumableUploadServer {
        /// Adds resumable uploads to an application: each upload becomes one request with its complete content to
        /// `responder`, such as a router, however many connections it took.
        ///
        /// The application must serve HTTP through `HTTPServerBuilder.http1(resumableUploads:)`.
        ///
        /// - Parameters:
        ///   - configuration: The limits and the storage of uploads.
        ///   - responder: Handles completed uploads. Its response is at most `configuration.maximumResponseBytes` bytes long.
        ///   - logger: The logger of the request contexts.
        public convenience init<Responder: HTTPResponder>(
            configuration: Configuration = Configuration(),
            responder: Responder,
            logger: Logger = Logger(label: "ResumableUploads")
        ) where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
            let limit = configuration.maximumResponseBytes
            self.init(configuration: configuration) { upload in
                let source = ApplicationRequestContextSource(channel: upload.channel, logger: logger)
                let request = Request(head: upload.head, body: RequestBody(asyncSequence: upload.body))
                let response = try await responder.respond(to: request, context: Responder.Context(source: source))
                let content = try await response.body.collected(upTo: limit)
                return UploadedResponse(head: response.head, content: content)
            }
        }
    }

    extension HTTPServerBuilder {
        /// HTTP/1.1 with resumable uploads. Requests that aren't uploads reach the application unchanged.
        ///
        /// - Parameters:
        /// - uploads: The uploads of all connections.
        ///   - configuration: The configuration of a connection; its additional handlers come after the upload handler.
        public static func http1(
            resumableUploads uploads: ResumableUploadServer,
            configuration: HTTP1Channel.Configuration = HTTP1Channel.Configuration()
        ) -> HTTPServerBuilder {
            var changed = configuration
            changed.idleTimeout = nil
            changed.additionalChannelHandlers = {
                // Hummingbird's own comes behind the handler of uploads, sees none of their parts, and would close their connections.
                let state = HTTPConnectionStateHandler(
                    idleTimeout: configuration.idleTimeout.map { Duration($0) },
                    logger: Logger(label: "ResumableUploads")
                )
                return [state, ResumableUploadHandler(uploads)] + configuration.additionalChannelHandlers()
            }
            return .http1(configuration: changed)
        }
    }

    /// A response that is too long to be stored.
    struct ResponseTooLong: Error {}

    extension ResponseBody {
        /// Collects the content. Throws when it is longer than `limit` bytes.
        consuming func collected(upTo limit: Int) async throws -> ByteBuffer {
            let collected = Collected(limit: limit)
            try await write(CollectingWriter(collected: collected))
            return collected.content.withLock { $0 }
        }
    }

    /// The content of a response, up to a limit.
    private final class Collected: Sendable {
        let limit: Int
        let content = Mutex(ByteBuffer())

        init(limit: Int) { self.limit = limit }
    }

    private struct CollectingWriter: ResponseBodyWriter {
        let collected: Collected

        mutating func write(_ buffer: ByteBuffer) async throws {
            try collected.content.withLock { content in
                guard content.readableBytes + buffer.readableBytes <= collected.limit else { throw ResponseTooLong() }
                content.writeImmutableBuffer(buffer)
            }
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }

#endif
