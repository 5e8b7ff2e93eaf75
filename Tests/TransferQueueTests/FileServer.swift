import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestStreams

/// A server of files in memory, with ranges and plain uploads, that a test can make refuse requests.
final class FileServer: Sendable {
    struct Request: Sendable {
        var method: String
        var path: String
        var headers: [String: String]
        var body: [UInt8]
    }

    private struct State {
        var files: [String: [UInt8]] = [:]
        var requests: [Request] = []
        var refuse: @Sendable (Request) -> Int? = { _ in nil }
        var redirect: @Sendable (Request) -> String? = { _ in nil }
    }

    private let state = Mutex(State())
    private let channel: any Channel

    /// Runs `body` with a server on a port of the system's choice.
    static func run<Result>(_ body: (FileServer) async throws -> Result) async throws -> Result {
        let box = Mutex<FileServer?>(nil)
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler { box.withLock { $0 } })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = FileServer(channel)
        box.withLock { $0 = server }
        defer { box.withLock { $0 = nil } }
        return try await ending(server, after: body) { try await channel.close() }
    }

    private init(_ channel: any Channel) { self.channel = channel }

    var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }
    var requests: [Request] { state.withLock { $0.requests } }

    func put(_ bytes: [UInt8], at path: String) { state.withLock { $0.files[path] = bytes } }
    func bytes(at path: String) -> [UInt8]? { state.withLock { $0.files[path] } }
    func refuse(_ refuse: @escaping @Sendable (Request) -> Int?) { state.withLock { $0.refuse = refuse } }
    func redirect(_ redirect: @escaping @Sendable (Request) -> String?) { state.withLock { $0.redirect = redirect } }

    fileprivate func answer(_ request: Request) -> (HTTPResponseHead, [UInt8]) {
        let answer = state.withLock { state -> (Int, [(String, String)], [UInt8]) in
            state.requests.append(request)
            if let status = state.refuse(request) { return (status, [], []) }
            if let location = state.redirect(request) { return (302, [("Location", location)], []) }
            if request.path == "/silent" { return (0, [], []) }
            if request.method == "PUT" {
                state.files[request.path] = request.body
                return (201, [], [])
            }
            guard let file = state.files[request.path] else { return (404, [], []) }
            if request.path == "/plain" { return (200, [], file) }
            let tag = [("ETag", "\"\(file.count)\""), ("Accept-Ranges", "bytes")]
            guard let range = request.headers["range"], let first = Int(range.dropFirst(6).prefix { $0 != "-" }),
                first < file.count
            else { return (200, tag, file) }
            return (
                206, tag + [("Content-Range", "bytes \(first)-\(file.count - 1)/\(file.count)")], Array(file[first...])
            )
        }
        var headers = HTTPHeaders(answer.1)
        headers.add(name: "Content-Length", value: "\(answer.2.count)")
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.0), headers: headers)
        return (head, request.method == "HEAD" ? [] : answer.2)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let server: () -> FileServer?
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(_ server: @escaping () -> FileServer?) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): (self.head, body) = (head, [])
            case .body(let buffer): body += Array(buffer.readableBytesView)
            case .end:
                guard let head, let server = server() else { return context.close(promise: nil) }
                let headers = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
                let request = Request(method: head.method.rawValue, path: head.uri, headers: headers, body: body)
                let (response, bytes) = server.answer(request)
                guard response.status.code > 0 else { return }
                context.write(wrapOutboundOut(.head(response)), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
