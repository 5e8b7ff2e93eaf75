import Glibc
import HTTPTransport
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A client of one server over HTTP/1.1: a connection for each request, no redirection, no retry.
struct HTTP1Client: Sendable {
    /// A request.
    struct Request: Sendable {
        /// The method, such as `GET`.
        var method: String
        /// The path with its query, percent-encoded.
        var target: String
        /// Further field lines; `Host`, `Connection` and `Content-Length` are added.
        var fields: [(name: String, value: String)]
        /// The content; empty for none.
        var body: [UInt8]

        /// Makes a request.
        init(
            _ method: String,
            _ target: String,
            fields: [(name: String, value: String)] = [],
            body: [UInt8] = []
        ) {
            self.method = method
            self.target = target
            self.fields = fields
            self.body = body
        }
    }

    /// Why a request has no complete response.
    enum Failure: Error, Sendable {
        /// No connection, for this reason.
        case unreachable(String)
        /// The response didn't end in time.
        case timedOut
        /// The connection ended before the response did.
        case cutOff
        /// The response isn't valid HTTP, or the connection failed.
        case broken(String)
    }

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    /// The time for a connection, and for its TLS handshake: 10 s each.
    private static let connectTimeout = TimeAmount.seconds(10)

    private let host: String
    private let port: Int
    private let tls: (any ClientTLS)?

    /// A client of the server at `host`, a name or an address without brackets, and `port`; with `tls` its certificate is
    /// verified for `host`.
    init(host: String, port: Int, tls: (any ClientTLS)? = nil) {
        self.host = host
        self.port = port
        self.tls = tls
    }

    /// Sends `request` and hands each part of the response's content to `receive` with the status, as it arrives.
    ///
    /// - Parameter timeout: the time for the response once connected; `nil` for no limit.
    /// - Returns: the status.
    /// - Throws: `Failure`, or the error of `receive`, which closes the connection.
    func send(
        _ request: Request,
        within timeout: Duration?,
        _ receive: (Int, [UInt8]) throws -> Void
    ) async throws -> Int {
        let (connection, handshake) = try await connect()
        let channel = connection.channel
        let isLate = Atomic(false)
        let timer = timeout.map { timeout in
            channel.eventLoop.scheduleTask(in: TimeAmount(timeout)) {
                isLate.store(true, ordering: .relaxed)
                channel.close(promise: nil)
            }
        }
        defer { timer?.cancel() }
        do {
            return try await connection.executeThenClose { inbound, outbound in
                if let handshake { try await HTTP1Client.end(of: handshake, on: channel) }
                var parts: [HTTPClientRequestPart] = [.head(head(of: request))]
                if !request.body.isEmpty { parts.append(.body(.byteBuffer(ByteBuffer(bytes: request.body)))) }
                parts.append(.end(nil))
                // A server may respond and close before it has everything: its response counts, not the failed write.
                var failure: (any Error)?
                do { try await outbound.write(contentsOf: parts) } catch { failure = error }
                var status = 0
                for try await part in inbound {
                    switch part {
                    case .head(let head): status = Int(head.status.code)
                    case .body(let buffer): try receive(status, Array(buffer.readableBytesView))
                    case .end: return status
                    }
                }
                throw failure ?? Failure.cutOff
            }
        } catch {
            if isLate.load(ordering: .relaxed) { throw Failure.timedOut }
            switch error {
            case let error as Failure: throw error
            case is ChannelError: throw Failure.cutOff
            case let error as HTTPParserError: throw Failure.broken("\(error)")
            case let error as IOError: throw Failure.broken(HTTP1Client.reason(error))
            default:
                guard let failure = TLSFailure(error) else { throw error }
                throw failure.kind == .truncated ? Failure.cutOff : Failure.broken("\(failure)")
            }
        }
    }

    private func head(of request: Request) -> HTTPRequestHead {
        let authority = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        var fields = HTTPHeaders([("Host", authority), ("Connection", "close")])
        if !request.body.isEmpty || request.method != "GET" {
            fields.add(name: "Content-Length", value: "\(request.body.count)")
        }
        for (name, value) in request.fields { fields.add(name: name, value: value) }
        return HTTPRequestHead(
            version: .http1_1,
            method: HTTPMethod(rawValue: request.method),
            uri: request.target,
            headers: fields
        )
    }

    private static func end(of handshake: EventLoopFuture<HTTPProtocol>, on channel: any Channel) async throws {
        let isLate = Atomic(false)
        let timer = channel.eventLoop.scheduleTask(in: connectTimeout) {
            isLate.store(true, ordering: .relaxed)
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        do {
            _ = try await handshake.get()
        } catch let error as TLSFailure {
            throw Failure.unreachable("\(error)")
        } catch {
            throw Failure.unreachable(
                isLate.load(ordering: .relaxed)
                    ? "no TLS handshake within 10 s" : "the connection ended in the TLS handshake"
            )
        }
    }

    private func connect() async throws(Failure) -> (Connection, handshake: EventLoopFuture<HTTPProtocol>?) {
        do {
            return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(HTTP1Client.connectTimeout)
                .connect(host: host, port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        // In front of the others.
                        let handshake = try tls?.start(on: channel, to: host, offersHTTP2: false)
                        return (try Connection(wrappingChannelSynchronously: channel), handshake)
                    }
                }
        } catch let error as NIOConnectionError {
            if let failure = error.connectionErrors.last?.error {
                throw .unreachable((failure as? IOError).map(HTTP1Client.reason) ?? "it took too long")
            }
            throw .unreachable("the name can't be resolved")
        } catch let error as IOError {
            throw .unreachable(HTTP1Client.reason(error))
        } catch {
            throw .unreachable("\(error)")
        }
    }

    private static func reason(_ error: IOError) -> String {
        switch error.errnoCode {
        case ECONNREFUSED: "connection refused"
        case ECONNRESET: "connection reset"
        case EHOSTUNREACH: "no route to host"
        case ENETUNREACH: "network unreachable"
        case ETIMEDOUT: "connection timed out"
        default: "errno \(error.errnoCode)"
        }
    }
}
