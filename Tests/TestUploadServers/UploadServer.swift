import HTTPSemantics
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOHTTPTypesHTTP2
import NIOPosix
import NIOResumableUpload
import NIOSSL
import ResumableUploads
import Synchronization
import TestStreams
import TransferProtocol

/// The servers used in upload tests.
public enum UploadServerKind: Hashable, Sendable {
    /// Accepts only plain uploads.
    case ordinary
    /// swift-nio-extras' own handler, which speaks versions 3, 5 and 6.
    case nioExtras
    /// Squall's handler in front of one for plain uploads.
    case wrapped
    /// Resumable uploads in one dialect, with progress responses.
    case dialect(UploadWireFormat)
}

/// The faults and responses of a server.
public struct UploadServerHabits: Sendable {
    /// The bytes that a connection receives before it is cut, by ordinal from 0; `nil` for no cut.
    public var cut: @Sendable (Int) -> Int? = { _ in nil }
    /// The bytes that a connection receives before it stops reading but stays open; `nil` for no limit.
    public var stall: @Sendable (Int) -> Int? = { _ in nil }
    /// The ordinals of connections that are closed instead of sending a final response.
    public var mute: Set<Int> = []
    /// The status sent immediately, before the content, by connection ordinal and request fields; `nil` for none.
    public var refuse: @Sendable (Int, HTTPFields) -> Int? = { _, _ in nil }
    /// The status of the target's response in a dialect, which isn't flagged; `nil` for a flagged 201.
    public var verdict: Int?
    /// The `max-append-size`.
    public var maximumAppend: Int64?
    /// The `Repr-Digest` of the final response.
    public var digest: String?
    /// The content of the final response of an ordinary server.
    public var content = ""
    /// The `Content-Location` of that response.
    public var contentLocation: String?
    /// The TLS server context; `nil` for plain HTTP.
    public var tls: NIOSSLContext?
    /// Whether the server speaks only HTTP/2, over TLS.
    public var speaksHTTP2 = false
    /// Whether nothing is read after a request's head.
    public var isDeaf = false
    /// Whether there are interim responses.
    public var interimResponses = true
    /// Whether the first interim response to a creation follows its content.
    public var informsLate = false
    /// The methods that get no response.
    public var silentMethods: Set<String> = []
    /// The offset in responses to `HEAD`, by the number of received bytes.
    public var toldOffset: @Sendable (Int64) -> Int64 = { $0 }

    /// Makes a well-behaved server.
    public init() {}
}

/// A loopback server that records requests.
public final class UploadServer: Sendable {
    /// The `WWW-Authenticate` of a 401.
    static let challenge = "Basic realm=\"files\""

    /// A request as seen by a test.
    public struct Seen: Sendable {
        /// The method.
        public var method: String
        /// The request target.
        public var path: String
        /// The header fields.
        public var fields: HTTPFields
    }

    struct Upload {
        var bytes: [UInt8] = []
        var isComplete = false
    }

    struct Record {
        var requests: [Seen] = []
        var connections = 0
        var uploads: [Int: Upload] = [:]
        var delivered: [[UInt8]] = []
    }

    let record = Mutex(Record())
    /// The kind of server.
    public let kind: UploadServerKind
    let habits: UploadServerHabits
    private let bound = Mutex<(any Channel)?>(nil)

    init(_ kind: UploadServerKind, _ habits: UploadServerHabits) {
        self.kind = kind
        self.habits = habits
    }

    /// The URL for uploads.
    public var url: String { "\(habits.tls == nil ? "http" : "https")://127.0.0.1:\(port)/target" }
    /// The port on 127.0.0.1.
    public var port: Int { bound.withLock { $0?.localAddress?.port ?? 0 } }
    /// The complete representations, in order.
    public var delivered: [[UInt8]] { record.withLock { $0.delivered } }
    /// The heads of the requests, in order.
    public var requests: [Seen] { record.withLock { $0.requests } }

    func start() async throws {
        let context = HTTPResumableUploadContext(origin: "")
        let uploads = ResumableUploadServer(handler: deliver)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let ordinal = self.record.withLock { record in
                        defer { record.connections += 1 }
                        return record.connections
                    }
                    let pipeline = channel.pipeline.syncOperations
                    if let budget = self.habits.cut(ordinal) { try pipeline.addHandler(CutHandler(budget)) }
                    if let budget = self.habits.stall(ordinal) {
                        try pipeline.addHandler(CutHandler(budget, isSilent: true))
                    }
                    if let tls = self.habits.tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    guard self.habits.speaksHTTP2 else {
                        try pipeline.configureHTTPServerPipeline()
                        try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: self.habits.tls != nil))
                        return try self.serve(on: channel, ordinal, context, uploads)
                    }
                    let streams = NIOHTTP2Handler(
                        mode: .server,
                        eventLoop: channel.eventLoop,
                        connectionConfiguration: .init(),
                        streamConfiguration: .init()
                    ) { stream in
                        stream.eventLoop.makeCompletedFuture {
                            try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTPServerCodec())
                            try self.serve(on: stream, ordinal, context, uploads)
                        }
                    }
                    try pipeline.addHandler(streams)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        bound.withLock { $0 = channel }
    }

    /// Adds the request handlers of a channel, after its codec.
    private func serve(
        on channel: any Channel,
        _ ordinal: Int,
        _ context: HTTPResumableUploadContext,
        _ uploads: ResumableUploadServer
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(RequestLog(self))
        switch kind {
        case .nioExtras:
            let sink = TargetHandler(self, ordinal)
            try pipeline.addHandler(HTTPResumableUploadHandler(context: context, handlers: [sink]))
        case .wrapped:
            try pipeline.addHandler(ResumableUploadHandler(uploads))
            try pipeline.addHandler(TargetHandler(self, ordinal))
        case .ordinary: try pipeline.addHandler(TargetHandler(self, ordinal))
        case .dialect(let dialect): try pipeline.addHandler(DialectHandler(self, ordinal, dialect))
        }
    }

    /// Receives a plain upload.
    private func deliver(_ request: UploadedRequest) async throws -> UploadedResponse {
        var bytes: [UInt8] = []
        for try await piece in request.body { bytes += piece.readableBytesView }
        record.withLock { $0.delivered.append(bytes) }
        var fields: HTTPFields = [:]
        fields[.reprDigest] = habits.digest
        return UploadedResponse(head: HTTPResponse(status: .created, headerFields: fields))
    }

    /// Forgets all uploads: requests for them get 404.
    public func forgetUploads() { record.withLock { $0.uploads = [:] } }

    func stop() async throws { try await bound.withLock { $0 }?.close() }
}

/// Runs `body` against a server.
public func withUploadServer<Value>(
    _ kind: UploadServerKind,
    _ habits: UploadServerHabits = UploadServerHabits(),
    _ body: (UploadServer) async throws -> Value
) async throws -> Value {
    let server = UploadServer(kind, habits)
    try await server.start()
    return try await ending(server, after: body) { try await server.stop() }
}

/// Closes a connection after a number of bytes, or leaves it open and stops reading.
private final class CutHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private var budget: Int
    private let isSilent: Bool

    init(_ budget: Int, isSilent: Bool = false) {
        self.budget = budget
        self.isSilent = isSilent
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        let rest = budget
        budget -= buffer.readableBytes
        guard budget <= 0 else { return context.fireChannelRead(data) }
        if rest > 0, let last = buffer.readSlice(length: rest) {
            context.fireChannelRead(wrapInboundOut(last))
            context.fireChannelReadComplete()
        }
        guard isSilent else { return context.close(promise: nil) }
        context.channel.setOption(.autoRead, value: false).whenComplete { _ in }
    }

    func read(context: ChannelHandlerContext) { if budget > 0 || !isSilent { context.read() } }
}

/// Records the head of each request.
private final class RequestLog: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    private let server: UploadServer

    init(_ server: UploadServer) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            server.record.withLock { record in
                record.requests.append(
                    UploadServer.Seen(method: head.method.rawValue, path: head.path ?? "", fields: head.headerFields)
                )
            }
        }
        context.fireChannelRead(data)
    }
}

/// The target of plain uploads: keeps complete representations.
private final class TargetHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart
    private let server: UploadServer
    private let ordinal: Int
    private var bytes: [UInt8] = []
    private var isResolved = false

    init(_ server: UploadServer, _ ordinal: Int) {
        self.server = server
        self.ordinal = ordinal
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            bytes = []
            if let status = server.habits.refuse(ordinal, head.headerFields) { respond(status, context) }
        case .body(let buffer): bytes += buffer.readableBytesView
        case .end:
            guard !isResolved else { return }
            server.record.withLock { $0.delivered.append(bytes) }
            if server.habits.mute.contains(ordinal) { return context.close(promise: nil) }
            respond(201, context)
        }
    }

    private func respond(_ status: Int, _ context: ChannelHandlerContext) {
        isResolved = true
        let content = ByteBuffer(string: server.habits.content)
        var fields: HTTPFields = [.contentLength: "\(content.readableBytes)"]
        fields[.reprDigest] = server.habits.digest
        fields[.contentLocation] = server.habits.contentLocation
        if status == 401 { fields[.wwwAuthenticate] = UploadServer.challenge }
        context.write(
            wrapOutboundOut(.head(HTTPResponse(status: .init(code: status), headerFields: fields))),
            promise: nil
        )
        context.write(wrapOutboundOut(.body(content)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
