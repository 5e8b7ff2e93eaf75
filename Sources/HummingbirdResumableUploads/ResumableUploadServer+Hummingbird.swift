#if Hummingbird

    import HTTPTypes
    public import Hummingbird
    public import HummingbirdCore
    public import Logging
    import NIOCore
    public import ResumableUploads
    import Synchronization

    extension ResumableUploadServer {
        /// Makes the resumable uploads of an application: each upload is one request to `responder`, such as that of a router,
        /// with all of the content, whatever connections it came over.
        ///
        /// The application has to serve HTTP by `HTTPServerBuilder.http1(resumableUploads:)`.
        ///
        /// - Parameters:
        ///   - configuration: The limits, and where uploads are.
        ///   - responder: What answers. Its response to an upload is at most `configuration.longestAnswer` bytes long.
        ///   - logger: What the contexts of these requests log to.
        public convenience init<Responder: HTTPResponder>(
            configuration: Configuration = Configuration(),
            responder: Responder,
            logger: Logger = Logger(label: "ResumableUploads")
        ) where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
            let limit = configuration.longestAnswer
            self.init(configuration: configuration) { upload in
                let source = ApplicationRequestContextSource(channel: upload.channel, logger: logger)
                let request = Request(head: upload.head, body: RequestBody(asyncSequence: upload.body))
                let response = try await responder.respond(to: request, context: Responder.Context(source: source))
                let content = try await response.body.collected(upTo: limit)
                return UploadedAnswer(head: response.head, content: content)
            }
        }
    }

    extension HTTPServerBuilder {
        /// HTTP/1.1 with resumable uploads. Requests that aren't about uploads go to the application as usual.
        ///
        /// - Parameters:
        ///   - uploads: The uploads of all connections.
        ///   - configuration: The configuration of a connection; what it adds to the pipeline stands behind the uploads.
        public static func http1(
            resumableUploads uploads: ResumableUploadServer,
            configuration: HTTP1Channel.Configuration = HTTP1Channel.Configuration()
        ) -> HTTPServerBuilder {
            var changed = configuration
            changed.additionalChannelHandlers = {
                [ResumableUploadHandler(uploads)] + configuration.additionalChannelHandlers()
            }
            return .http1(configuration: changed)
        }
    }

    /// A response that is too long to be kept.
    struct ResponseTooLong: Error {}

    extension ResponseBody {
        /// The content. Throws when it has more than `limit` bytes.
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
