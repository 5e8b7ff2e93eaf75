import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import ResumableUploads
import TransferProtocol

/// Handles uploads on a connection: passes content to an `UploadService` and sends its responses.
///
/// It comes before the `RequestHandler`, which gets all other requests. For an upload the `RequestHandler` is notified
/// when the request was taken, received and answered, and enforces the remaining connection rules: unsent bytes,
/// lingering, idle time. Buffers at most `OriginLimits.uploadBufferBytes` plus one read, and as much on its way to the
/// disk.
final class UploadHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Notifies the `RequestHandler` of a request handled here.
    enum Delegation: Hashable, Sendable {
        /// The request was taken.
        case delegated
        /// The request has arrived completely.
        case received
        /// Its last response follows, and then the connection closes.
        case endsConnection
    }

    /// An upload request.
    private struct ActiveRequest {
        let head: HTTPRequest
        let traits: RequestTraits
        let start: NIODeadline
        let exchange: UploadExchange
    }

    private enum State {
        /// Requests are forwarded to the next handler.
        case forwarding
        case serving(ActiveRequest)
        /// The response was sent before all content arrived; the connection closes, and the rest is discarded.
        case discarding
    }

    private let service: UploadService
    private let area: UploadPaths
    private let configuration: OriginConfiguration
    private var state = State.forwarding
    private var isReadDelayed = false
    /// The number of responses that the connection hasn't accepted yet.
    private var unsentResponses = 0
    private let progress: RequestProgress

    init(_ uploads: UploadEndpoint, _ configuration: OriginConfiguration, _ progress: RequestProgress) {
        service = uploads.service
        area = uploads.area
        self.configuration = configuration
        self.progress = progress
    }

    private var limits: OriginLimits { configuration.limits }

    // MARK: - What arrives

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if progress.isOver { return }
        let part = unwrapInboundIn(data)
        switch state {
        case .discarding: break
        case .forwarding:
            if case .head(let head) = part, begin(head, context) { return }
            context.fireChannelRead(data)
        case .serving(let active):
            switch part {
            case .head: break
            case .body(let content): active.exchange.contentArrived(content)
            case .end:
                context.fireUserInboundEventTriggered(Delegation.received)
                active.exchange.contentEnded()
            }
        }
    }

    /// Takes a request if it is about an upload.
    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) -> Bool {
        let subject = area.subject(of: head)
        let traits = progress.traits ?? RequestTraits(head)
        // The next handler responds to invalid requests.
        if subject == .other || !RequestHead(head, traits, limits: limits).isValid { return false }
        context.fireUserInboundEventTriggered(Delegation.delegated)
        let exchange = UploadExchange(
            service,
            on: context.eventLoop,
            expectsContinue: head.awaitsContinue,
            throughput: ThroughputMonitor(rate: limits.minimumContentRate, window: limits.contentRateWindow)
        ) { [unowned self] in perform($0, context) }
        state = .serving(
            ActiveRequest(head: head, traits: traits, start: context.eventLoop.now, exchange: exchange)
        )
        switch subject {
        case .other: break
        case .missing: respond(.message(404, "There is no such upload."), context)
        case .refused(let reason): respond(.message(400, reason), context)
        case .resource(let resource):
            let request = UploadRequestHead(
                resource: resource,
                method: head.method,
                fields: head.headerFields,
                contentLength: traits.contentLength
            )
            exchange.start { service.begin(request, $0) }
        }
        return true
    }

    // MARK: - Reading

    /// Delays reads while enough content is buffered, or while the client doesn't read its response: the responses to further
    /// requests would pile up. The `RequestHandler` ends such a connection as an idle one.
    func read(context: ChannelHandlerContext) {
        if isFull { isReadDelayed = true } else { context.read() }
    }

    private var isFull: Bool {
        switch state {
        case .serving(let active): active.exchange.buffered >= limits.uploadBufferBytes
        case .forwarding: unsentResponses > 0
        case .discarding: false
        }
    }

    private func releaseRead(_ context: ChannelHandlerContext) {
        guard isReadDelayed, !isFull else { return }
        isReadDelayed = false
        context.read()
    }

    // MARK: - What the service says

    private func perform(_ action: UploadExchange.Action, _ context: ChannelHandlerContext) {
        guard case .serving(let active) = state else { return }
        switch action {
        case .interim(let status, let fields):
            write(HTTPResponse(status: .init(code: status), headerFields: fields), context)
        case .respond(let response): respond(response, context)
        case .close: end(active, context)
        case .taken: releaseRead(context)
        case .timeOut:
            active.exchange.disconnect()
            respond(.message(408, "The content arrives too slowly."), context)
        }
    }

    /// Closes the connection without a response.
    private func end(_ active: ActiveRequest, _ context: ChannelHandlerContext) {
        active.exchange.stop()
        state = .discarding
        report(active, nil, context)
        context.close(promise: nil)
    }

    /// Writes an interim response, through the `RequestHandler`, which tracks unsent bytes.
    private func write(_ head: HTTPResponse, _ context: ChannelHandlerContext) {
        context.channel.writeAndFlush(HTTPResponsePart.head(head), promise: nil)
    }

    /// Writes the final response. If content is missing, the connection closes: the rest can't be told from a request.
    private func respond(_ response: UploadResponse, _ context: ChannelHandlerContext) {
        guard case .serving(let active) = state else { return }
        let hasAll = active.exchange.hasEnded || active.traits.contentLength == 0
        let keepsAlive = hasAll && active.traits.keepsAlive
        var fields = response.fields
        fields[.date] = configuration.now().headerValue
        let hasContent = response.status != 204 && active.head.method != .head
        if response.status != 204 { fields[.contentLength] = String(response.content.count) }
        let head = HTTPResponse(status: .init(code: response.status), headerFields: fields)
        // The end of a request without content may follow; the next handler ignores it.
        active.exchange.stop()
        state = keepsAlive ? .forwarding : .discarding
        if !keepsAlive { context.fireUserInboundEventTriggered(Delegation.endsConnection) }
        releaseRead(context)
        let channel = context.channel
        channel.write(HTTPResponsePart.head(head), promise: nil)
        if hasContent, !response.content.isEmpty {
            channel.write(HTTPResponsePart.body(ByteBuffer(bytes: response.content)), promise: nil)
        }
        report(active, response.status, context)
        let end = context.eventLoop.makePromise(of: Void.self)
        unsentResponses += 1
        end.futureResult.assumeIsolated().whenComplete { _ in
            self.unsentResponses -= 1
            self.releaseRead(context)
        }
        channel.writeAndFlush(HTTPResponsePart.end(nil), promise: end)
    }

    private func report(_ active: ActiveRequest, _ status: Int?, _ context: ChannelHandlerContext) {
        configuration.onRequest?(
            RequestRecord(
                method: active.head.method.rawValue,
                target: active.head.path ?? "",
                status: status ?? 0,
                range: nil,
                bytesSent: 0,
                bytesReceived: active.exchange.received,
                duration: .nanoseconds((context.eventLoop.now - active.start).nanoseconds),
                ending: status == nil ? .disconnected : .complete
            )
        )
    }

    // MARK: - The end of a connection

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case .serving(let active) = state, !active.exchange.hasEnded else {
            return context.fireErrorCaught(error)
        }
        if case .dataReceivedInErrorState? = error as? ByteToMessageDecoderError { return }
        active.exchange.disconnect()
        guard error is HTTPParserError, context.channel.isActive else { return end(active, context) }
        respond(.message(400, "The content is not valid."), context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        abandon(context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        abandon(context)
    }

    private func abandon(_ context: ChannelHandlerContext) {
        guard case .serving(let active) = state else { return }
        active.exchange.disconnect()
        active.exchange.stop()
        state = .discarding
        report(active, nil, context)
    }
}
