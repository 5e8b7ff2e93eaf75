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
        var id: UploadRequestID?
        var buffer = ByteBuffer()
        var received: Int64 = 0
        var hasEnded = false
        var isContentRequested = false
        var awaitsContinue: Bool
        var throughput: ThroughputMonitor
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
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?

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
        case .serving:
            change { active in
                switch part {
                case .head: break
                case .body(var content):
                    active.received += Int64(content.readableBytes)
                    active.throughput.bytesArrived(content.readableBytes, at: context.eventLoop.now)
                    if active.buffer.readableBytes == 0 {
                        active.buffer = content
                    } else {
                        active.buffer.writeBuffer(&content)
                    }
                case .end:
                    active.throughput.bytesArrived(0, at: context.eventLoop.now)
                    active.hasEnded = true
                }
            }
            if case .end = part { context.fireUserInboundEventTriggered(Delegation.received) }
            deliver(context)
        }
    }

    /// Takes a request if it is about an upload.
    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) -> Bool {
        let subject = area.subject(of: head)
        let traits = progress.traits ?? RequestTraits(head)
        // The next handler responds to invalid requests.
        if subject == .other || !RequestHead(head, traits, limits: limits).isValid { return false }
        context.fireUserInboundEventTriggered(Delegation.delegated)
        state = .serving(
            ActiveRequest(
                head: head,
                traits: traits,
                start: context.eventLoop.now,
                awaitsContinue: head.awaitsContinue,
                throughput: ThroughputMonitor(rate: limits.minimumContentRate, window: limits.contentRateWindow)
            )
        )
        switch subject {
        case .other: break
        case .missing: respond(.message(404, "There is no such upload."), context)
        case .refused(let reason): respond(.message(400, reason), context)
        case .resource(let resource):
            let request = UploadRequest(
                resource: resource,
                method: head.method,
                fields: head.headerFields,
                contentLength: traits.contentLength
            )
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            let eventLoop = context.eventLoop
            let id = service.begin(request) { action in
                eventLoop.execute {
                    let (handler, context) = bound.value
                    handler.perform(action, context)
                }
            }
            change { $0.id = id }
        }
        return true
    }

    /// Modifies the current request in place, releasing the state's reference so that its buffer isn't copied.
    private func change(_ body: (inout ActiveRequest) -> Void) {
        guard case .serving(var active) = state else { return }
        state = .forwarding
        body(&active)
        state = .serving(active)
    }

    /// Delivers received content if the service requested it.
    private func deliver(_ context: ChannelHandlerContext) {
        guard case .serving(let active) = state, let id = active.id else { return }
        if active.isContentRequested {
            if active.buffer.readableBytes > 0 {
                let bytes = Array(active.buffer.readableBytesView)
                change { active in
                    active.buffer = ByteBuffer()
                    active.isContentRequested = false
                }
                service.handle(.content(id, bytes))
            } else if active.hasEnded {
                change { $0.isContentRequested = false }
                service.handle(.contentEnded(id))
            } else {
                change { $0.throughput.waitBegan(at: context.eventLoop.now) }
            }
        }
        releaseRead(context)
        setTimer(context)
    }

    // MARK: - Reading

    /// Delays reads while enough content is buffered, or while the client doesn't read its response: the responses to further
    /// requests would pile up. The `RequestHandler` ends such a connection as an idle one.
    func read(context: ChannelHandlerContext) {
        if isFull { isReadDelayed = true } else { context.read() }
    }

    private var isFull: Bool {
        switch state {
        case .serving(let active): active.buffer.readableBytes >= limits.uploadBufferBytes
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

    private func perform(_ action: UploadServerAction, _ context: ChannelHandlerContext) {
        // An action may arrive late, for an earlier request.
        guard case .serving(let active) = state, let id = active.id, action.request == id else { return }
        switch action {
        case .interim(_, let response):
            write(HTTPResponse(status: .init(code: response.status), headerFields: response.fields), context)
        case .receive:
            if active.awaitsContinue {
                if active.buffer.readableBytes == 0, !active.hasEnded {
                    write(HTTPResponse(status: .continue), context)
                }
                change { $0.awaitsContinue = false }
            }
            change { $0.isContentRequested = true }
            deliver(context)
        case .respond(_, let response): respond(response, context)
        case .close:
            state = .discarding
            report(active, nil, context)
            context.close(promise: nil)
        case .store: break
        }
    }

    /// Writes an interim response, through the `RequestHandler`, which tracks unsent bytes.
    private func write(_ head: HTTPResponse, _ context: ChannelHandlerContext) {
        context.channel.writeAndFlush(HTTPResponsePart.head(head), promise: nil)
    }

    /// Writes the final response. If content is missing, the connection closes: the rest can't be told from a request.
    private func respond(_ response: UploadResponse, _ context: ChannelHandlerContext) {
        guard case .serving(let active) = state else { return }
        let hasAll = active.hasEnded || active.traits.contentLength == 0
        let keepsAlive = hasAll && active.traits.keepsAlive
        var fields = response.fields
        fields[.date] = configuration.now().headerValue
        let hasContent = response.status != 204 && active.head.method != .head
        if response.status != 204 { fields[.contentLength] = String(response.content.count) }
        let head = HTTPResponse(status: .init(code: response.status), headerFields: fields)
        // The end of a request without content may follow; the next handler ignores it.
        state = keepsAlive ? .forwarding : .discarding
        setTimer(context)
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
                bytesReceived: active.received,
                duration: .nanoseconds((context.eventLoop.now - active.start).nanoseconds),
                ending: status == nil ? .disconnected : .complete
            )
        )
    }

    // MARK: - The end of a connection

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case .serving(let active) = state, !active.hasEnded else {
            return context.fireErrorCaught(error)
        }
        if case .dataReceivedInErrorState? = error as? ByteToMessageDecoderError { return }
        giveUp(active)
        if error is HTTPParserError, context.channel.isActive {
            respond(.message(400, "The content is not valid."), context)
        } else {
            state = .discarding
            report(active, nil, context)
            context.close(promise: nil)
        }
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
        state = .discarding
        setTimer(context)
        report(active, nil, context)
        giveUp(active)
    }

    /// Reports the end of the connection to the service, after the last received content.
    private func giveUp(_ active: ActiveRequest) {
        guard let id = active.id else { return }
        if active.buffer.readableBytes > 0 {
            service.handle(.content(id, Array(active.buffer.readableBytesView)))
        }
        service.handle(.disconnected(id))
    }

    /// Schedules the next throughput check. An earlier timer stays; it reschedules itself.
    private func setTimer(_ context: ChannelHandlerContext) {
        guard case .serving(let active) = state else {
            timer?.task.cancel()
            timer = nil
            return
        }
        guard let deadline = active.throughput.deadline else { return }
        if let timer, timer.deadline <= deadline { return }
        timer?.task.cancel()
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.timeAdvanced(context)
        }
        timer = (deadline, task)
    }

    private func timeAdvanced(_ context: ChannelHandlerContext) {
        var isTooSlow = false
        change { isTooSlow = $0.throughput.isTooSlow(at: context.eventLoop.now) }
        guard isTooSlow, case .serving(let active) = state else { return setTimer(context) }
        giveUp(active)
        respond(.message(408, "The content arrives too slowly."), context)
    }
}

extension UploadServerAction {
    /// The request of the action.
    fileprivate var request: UploadRequestID? {
        switch self {
        case .interim(let id, _), .receive(let id), .respond(let id, _), .close(let id): id
        case .store: nil
        }
    }
}
