import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import OperatingSystem
import Synchronization
import TransferProtocol

/// Sends single requests over connections that stay open for the next ones.
///
/// A connection serves one request at a time. At most `maximumIdle` wait for the next, each for `idleLimit`; they close
/// with this value.
final class KeptConnections: Sendable {
    static let maximumIdle = 16
    static let idleLimit = TimeAmount.seconds(30)
    /// The same for a request that isn't idempotent, which isn't repeated (RFC 9112, section 9.3.1): 1 s.
    static let unsafeLimit = TimeAmount.seconds(1)

    let group: any EventLoopGroup
    private let idle = Mutex<[String: [(connection: HTTPConnection, since: NIODeadline)]]>([:])

    init(_ group: any EventLoopGroup) { self.group = group }

    deinit {
        for connection in idle.withLock({ $0.values.joined() }) { connection.connection.socket.close(promise: nil) }
    }

    /// Sends a request, concurrent with `receive`, which gets the parts of all responses, and keeps the connection.
    @_semantics("optimize.sil.specialize.generic.never")
    func send<Outcome: Sendable>(
        _ request: HTTPRequest,
        to url: TransferURL,
        _ body: [UInt8]?,
        within remaining: Duration?,
        _ configuration: TransferClientConfiguration,
        receive: (ReadParts) async throws -> Outcome
    ) async throws -> Outcome {
        let connections = HTTPConnections(configuration: configuration, direction: .download, group: group)
        let key = "\(url.scheme.rawValue)://\(url.authority)"
        let isRepeatable = [.get, .head, .put, .delete, .options, .trace].contains(request.method)
        while let kept = take(key, within: isRepeatable ? Self.idleLimit : Self.unsafeLimit) {
            guard let connection = try? await connections.reuse(kept, within: remaining),
                let parts = try? await ReadParts(connection.channel)
            else { continue }
            do {
                return try await exchange(request, body, connection, parts, key, receive)
            } catch {
                // The server may have closed the connection while nothing used it.
                guard isRepeatable, !(error is TransientFailure), !Task.isCancelled, await parts.isUnused() else {
                    throw error
                }
            }
        }
        let connection = try await connections.connectKept(to: url, within: remaining)
        return try await exchange(request, body, connection, ReadParts(connection.channel), key, receive)
    }

    @_semantics("optimize.sil.specialize.generic.never")
    private func exchange<Outcome: Sendable>(
        _ request: HTTPRequest,
        _ body: [UInt8]?,
        _ connection: HTTPConnection,
        _ parts: ReadParts,
        _ key: String,
        _ receive: (ReadParts) async throws -> Outcome
    ) async throws -> Outcome {
        let channel = connection.channel
        return try await withTaskCancellationHandler {
            channel.write(HTTPRequestPart.head(connection.prepared(request, isLast: false)), promise: nil)
            // The end of each part tells that bytes flow.
            for part in UploadBodyWriter.parts(of: ByteBuffer(bytes: body ?? [])) { channel.write(part, promise: nil) }
            channel.writeAndFlush(HTTPRequestPart.end(nil)).whenSuccess { parts.reader.value.isSent = true }
            do {
                let outcome = try await receive(parts)
                await keep(connection, parts, key)
                return outcome
            } catch {
                connection.socket.close(promise: nil)
                throw error
            }
        } onCancel: {
            connection.socket.close(promise: nil)
        }
    }

    private func take(_ key: String, within limit: TimeAmount) -> HTTPConnection? {
        idle.withLock { idle in
            while let last = idle[key]?.popLast() {
                if idle[key]?.isEmpty == true { idle[key] = nil }
                if last.connection.socket.isActive, last.since + limit > .now() { return last.connection }
                last.connection.socket.close(promise: nil)
            }
            return nil
        }
    }

    /// Keeps a connection for the next request if the response is over, else closes it.
    private func keep(_ connection: HTTPConnection, _ parts: ReadParts, _ key: String) async {
        let socket = connection.socket
        let isIdle: Void? = try? await socket.eventLoop.submit {
            let pipeline = socket.pipeline.syncOperations
            guard parts.reader.value.isOver else { throw ChannelError.eof }
            if connection.negotiated == .http1 {
                pipeline.removeHandler(parts.reader.value, promise: nil)
                try pipeline.removeHandler(pipeline.handler(type: AttemptTimeoutHandler.self), promise: nil)
            }
            try pipeline.addHandler(IdleHandler())
        }.get()
        let isKept = idle.withLock { idle in
            guard isIdle != nil, idle.values.reduce(0, { $0 + $1.count }) < Self.maximumIdle else { return false }
            idle[key, default: []].append((connection, .now()))
            return true
        }
        if !isKept { socket.close(promise: nil) }
    }
}

/// The parts of the responses to a request, read one at a time. For one reader.
struct ReadParts: AsyncSequence, Sendable {
    typealias Element = HTTPResponsePart
    fileprivate let reader: NIOLoopBound<ResponseReader>
    private let loop: any EventLoop

    init(_ channel: any Channel) async throws {
        loop = channel.eventLoop
        reader = try await loop.submit { [loop] in
            NIOLoopBound(try channel.pipeline.syncOperations.handler(type: ResponseReader.self), eventLoop: loop)
        }.get()
    }

    /// Whether nothing of a response has come.
    func isUnused() async -> Bool { (try? await loop.submit { !reader.value.hasBegun }.get()) == true }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let parts: ReadParts

        mutating func next() async throws -> HTTPResponsePart? {
            try await parts.loop.flatSubmit { [parts] in parts.reader.value.next(on: parts.loop) }.get()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(parts: self) }
}

/// Hands out the parts of the responses to a request, and reads when there is none.
private final class ResponseReader: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPResponsePart

    /// Whether the request was sent. A server may respond before it has read all of it.
    var isSent = false
    /// Whether anything of a response has come.
    private(set) var hasBegun = false
    /// Whether the end of the final response was read.
    private var hasEnded = false
    private var parts = CircularBuffer<HTTPResponsePart>()
    private var end: Result<HTTPResponsePart?, any Error>?
    private var waiter: EventLoopPromise<HTTPResponsePart?>?
    private var context: ChannelHandlerContext?
    private var closes = false

    /// Whether another request may follow on the connection.
    var isOver: Bool { isSent && hasEnded && !closes && parts.isEmpty }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        finish(.success(nil))
    }

    func next(on loop: any EventLoop) -> EventLoopFuture<HTTPResponsePart?> {
        let promise = loop.makePromise(of: HTTPResponsePart?.self)
        waiter = promise
        deliver()
        if waiter != nil { context?.read() }
        return promise.futureResult
    }

    private func deliver() {
        guard let waiter else { return }
        if let part = parts.popFirst() {
            self.waiter = nil
            if case .end = part { hasEnded = true }
            waiter.succeed(part)
        } else if let end {
            self.waiter = nil
            waiter.completeWith(end)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        hasBegun = true
        if case .head(let head) = part {
            closes = head.headerFields[values: .connection].contains { $0.lowercased().contains("close") }
        }
        parts.append(part)
        deliver()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if waiter != nil { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { finish(.failure(error)) }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.success(nil))
        context.fireChannelInactive()
    }

    private func finish(_ result: Result<HTTPResponsePart?, any Error>) {
        if end == nil { end = result }
        deliver()
    }
}

/// Closes a connection that no request uses: after `KeptConnections.idleLimit`, and when the server sends anything.
private final class IdleHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private var timer: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: KeptConnections.idleLimit) {
            context.close(promise: nil)
        }
        // Without a read the end of the connection stays unnoticed.
        context.read()
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }
    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension HTTPConnections {
    /// Makes the handlers of a request on a connection that is kept.
    private func makeHandlers(within remaining: Duration?) -> @Sendable () -> [any ChannelHandler] {
        var limits = limits(within: remaining)
        limits.isKept = true
        return { [limits] in [AttemptTimeoutHandler(limits: limits, firstError: FirstValue()), ResponseReader()] }
    }

    /// Connects for a single request.
    fileprivate func connectKept(to url: TransferURL, within remaining: Duration?) async throws -> HTTPConnection {
        try await connect(to: url, limits(within: remaining), keeps: true, makeHandlers(within: remaining))
    }

    /// Makes a kept connection ready for the next request.
    fileprivate func reuse(_ kept: HTTPConnection, within remaining: Duration?) async throws -> HTTPConnection {
        let (socket, makeHandlers) = (kept.socket, makeHandlers(within: remaining))
        return try await socket.eventLoop.flatSubmit {
            do {
                let pipeline = socket.pipeline.syncOperations
                try pipeline.removeHandler(pipeline.handler(type: IdleHandler.self), promise: nil)
                return try kept.reopened(makeHandlers)
            } catch {
                socket.close(promise: nil)
                return socket.eventLoop.makeFailedFuture(error)
            }
        }.get()
    }
}
