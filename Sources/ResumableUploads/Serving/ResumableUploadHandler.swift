import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Takes the requests about uploads of a connection, or of a stream of HTTP/2, and lets all others pass.
///
/// It stands behind the codec that makes HTTP types, and sees one request at a time: with HTTP/1.1 an
/// `HTTPServerPipelineHandler` stands before that codec.
public final class ResumableUploadHandler: ChannelDuplexHandler, RemovableChannelHandler {
    /// Parts of requests.
    public typealias InboundIn = HTTPRequestPart
    /// Parts of requests that aren't about uploads.
    public typealias InboundOut = HTTPRequestPart
    /// Parts of the responses to these.
    public typealias OutboundIn = HTTPResponsePart
    /// Parts of responses.
    public typealias OutboundOut = HTTPResponsePart

    private struct Exchange {
        let method: HTTPRequest.Method
        var id: UploadRequestID?
        var upload: UploadToken?
        var buffer = ByteBuffer()
        var hasEnded = false
        var isAwaited = false
        var expectsContinue: Bool
    }

    private enum State {
        /// Requests go on to the next handler.
        case passing
        case exchanging(Exchange)
        /// The request was answered; what it still sends is dropped, so many bytes at most.
        case dropping(Int)
        case closed
    }

    private let server: ResumableUploadServer
    private var state = State.passing
    private var isReadHeld = false
    /// The OPTIONS request that passed last, until its response has passed.
    private var options: HTTPRequest?

    /// Makes the handler of one connection.
    public init(_ server: ResumableUploadServer) { self.server = server }

    private var limits: ResumableUploadServer.Configuration { server.configuration }

    /// Takes a part of a request.
    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        switch state {
        case .closed: break
        case .passing:
            if case .head(let head) = part {
                if server.takes(head) { return begin(head, context) }
                options = head.method == .options ? head : nil
            }
            context.fireChannelRead(data)
        case .dropping(let rest):
            switch part {
            case .head: break
            case .body(let content):
                state = .dropping(rest - content.readableBytes)
                if rest < content.readableBytes { close(context) }
            case .end: state = .passing
            }
        case .exchanging:
            change { exchange in
                switch part {
                case .head: break
                case .body(var content):
                    if exchange.buffer.readableBytes == 0 {
                        exchange.buffer = content
                    } else {
                        exchange.buffer.writeBuffer(&content)
                    }
                case .end: exchange.hasEnded = true
                }
            }
            deliver(context)
        }
    }

    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        let expectsContinue = UploadHead.expectsContinue(head.headerFields)
        state = .exchanging(Exchange(method: head.method, expectsContinue: expectsContinue))
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        let begun = server.begin(head, on: context.channel) { action in
            loop.execute {
                let (handler, context) = bound.value
                handler.perform(action, context)
            }
        }
        guard let begun else { return respond(.message(404, "There is no such upload."), context) }
        change { exchange in
            exchange.id = begun.id
            exchange.upload = begun.upload
        }
    }

    /// Changes the exchange in place: the state gives its reference to the bytes up first, so they aren't copied.
    private func change(_ body: (inout Exchange) -> Void) {
        guard case .exchanging(var exchange) = state else { return }
        state = .passing
        body(&exchange)
        state = .exchanging(exchange)
    }

    /// Hands over what has arrived, if it was asked for.
    private func deliver(_ context: ChannelHandlerContext) {
        guard case .exchanging(let exchange) = state, let id = exchange.id else { return }
        if exchange.isAwaited, exchange.buffer.readableBytes > 0 {
            let bytes = Array(exchange.buffer.readableBytesView)
            change { exchange in
                exchange.buffer = ByteBuffer()
                exchange.isAwaited = false
            }
            server.handle(.content(id, bytes))
        } else if exchange.isAwaited, exchange.hasEnded {
            change { $0.isAwaited = false }
            server.handle(.contentEnded(id))
        }
        releaseRead(context)
    }

    // MARK: - Reading

    /// Holds the next read back while there is enough in memory.
    public func read(context: ChannelHandlerContext) {
        if isFull { isReadHeld = true } else { context.read() }
    }

    private var isFull: Bool {
        guard case .exchanging(let exchange) = state else { return false }
        return exchange.buffer.readableBytes >= limits.bufferBytes
    }

    private func releaseRead(_ context: ChannelHandlerContext) {
        guard isReadHeld, !isFull else { return }
        isReadHeld = false
        context.read()
    }

    // MARK: - Answering

    /// Lets a response of the next handler pass. One to OPTIONS that succeeds gets the limits of uploads.
    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let request = options, case .head(var head) = unwrapOutboundIn(data), head.status.kind != .informational
        else { return context.write(data, promise: promise) }
        options = nil
        if head.status.kind == .successful { server.addLimits(to: &head.headerFields, for: request) }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    private func perform(_ action: UploadServerAction, _ context: ChannelHandlerContext) {
        guard case .exchanging(let exchange) = state, let id = exchange.id else { return }
        switch action {
        case .inform(id, let response): write(response.status, response.fields, context)
        case .receive(id):
            if exchange.expectsContinue { continueWhenRead(id, exchange.upload, context) }
            change { exchange in
                exchange.expectsContinue = false
                exchange.isAwaited = true
            }
            deliver(context)
        case .respond(id, let response): respond(response, context)
        case .close(id): close(context)
        // An action for an earlier request may come late.
        case .inform, .receive, .respond, .close, .store: break
        }
    }

    /// Asks for the content that a client holds back, once the handler of the upload waits for some.
    private func continueWhenRead(_ id: UploadRequestID, _ upload: UploadToken?, _ context: ChannelHandlerContext) {
        guard let upload else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        server.whenRead(upload) {
            loop.execute {
                let (handler, context) = bound.value
                guard case .exchanging(let exchange) = handler.state, exchange.id == id, !exchange.hasEnded,
                    exchange.buffer.readableBytes == 0
                else { return }
                handler.write(100, [:], context)
            }
        }
    }

    private func write(_ status: Int, _ fields: HTTPFields, _ context: ChannelHandlerContext) {
        let head = HTTPResponse(status: .init(code: status), headerFields: fields)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    private func respond(_ response: UploadResponse, _ context: ChannelHandlerContext) {
        guard case .exchanging(let exchange) = state else { return }
        state = exchange.hasEnded ? .passing : .dropping(limits.drainedBytes)
        var fields = response.fields
        let hasContent = ![204, 304].contains(response.status)
        if hasContent { fields[.contentLength] = String(response.content.count) }
        let head = HTTPResponse(status: .init(code: response.status), headerFields: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if hasContent, exchange.method != .head, !response.content.isEmpty {
            context.write(wrapOutboundOut(.body(ByteBuffer(bytes: response.content))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        releaseRead(context)
    }

    // MARK: - The end of the connection

    private func close(_ context: ChannelHandlerContext) {
        abandon()
        context.close(promise: nil)
    }

    /// Tells that no more comes, after the last of what has come.
    private func abandon() {
        defer { state = .closed }
        guard case .exchanging(let exchange) = state, let id = exchange.id else { return }
        if exchange.buffer.readableBytes > 0 {
            server.handle(.content(id, Array(exchange.buffer.readableBytesView)))
        }
        server.handle(.broke(id))
    }

    /// The connection is gone: the upload waits for another one.
    public func channelInactive(context: ChannelHandlerContext) {
        abandon()
        context.fireChannelInactive()
    }

    /// A request that isn't valid, or a connection that failed, ends what is under way.
    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case .exchanging = state else { return context.fireErrorCaught(error) }
        close(context)
    }

    /// The handler leaves the pipeline.
    public func handlerRemoved(context: ChannelHandlerContext) { abandon() }
}
