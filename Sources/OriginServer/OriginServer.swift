import HTTPSemantics
import HTTPTransport
import NIOCore
import NIOHTTP1
import NIOPosix
import SystemPackage
import TransferProtocol

/// An HTTP server for the files in a folder, designed for resumable transfers: HTTP/1.1, plain or over TLS, and HTTP/2
/// over TLS.
///
/// Supports GET and HEAD with single byte ranges, preconditions, strong entity tags and digests (RFC 9110, RFC 9112,
/// RFC 9530). Doesn't serve hidden files (a path component starts with a dot), partial files of the transfer client
/// (`.squall-part` in a name), names that aren't UTF-8, or folder listings. A path with a trailing slash serves the
/// folder's `index.html`; a folder's path without it redirects there.
///
/// Requires Linux with `/proc`.
public final class OriginServer: Sendable {
    /// The address of a server.
    public struct Address: Hashable, Sendable {
        /// The numeric address.
        public let host: String
        /// The port, never 0.
        public let port: Int

        /// Whether the server uses TLS.
        public let isSecure: Bool

        /// The root URL, without a trailing slash.
        public var url: String {
            (isSecure ? "https://" : "http://") + (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
        }
    }

    /// The address of this server.
    public let address: Address

    private let listener: any Channel
    private let connections: ConnectionRegistry
    private let responder: Responder
    private let limits: OriginLimits
    private let uploads: UploadEndpoint?

    private init(
        listener: any Channel,
        address: Address,
        connections: ConnectionRegistry,
        responder: Responder,
        uploads: UploadEndpoint?
    ) {
        self.uploads = uploads
        self.listener = listener
        self.address = address
        self.connections = connections
        self.responder = responder
        limits = responder.configuration.limits
    }

    /// Starts a server, which accepts connections when this returns, until `shutdown()`.
    ///
    /// Runs on NIO's shared event loops and thread pool.
    public static func start(_ configuration: OriginConfiguration) async throws(OriginError) -> OriginServer {
        guard (0...65_535).contains(configuration.port) else {
            throw OriginError(code: .invalidPort, subject: "\(configuration.port)", cause: nil)
        }
        let responder = Responder(
            configuration: configuration,
            folder: try ServedFolder(path: configuration.folder),
            digests: DigestStore(
                capacity: configuration.limits.cachedDigests,
                concurrency: configuration.limits.concurrentDigests
            ),
            threadPool: .singleton
        )
        let uploads = try await UploadEndpoint.open(configuration)
        let connections = ConnectionRegistry(limits: configuration.limits)
        let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                let most = configuration.limits.acceptedConnections
                let pause = AcceptPause {
                    connections.count < most
                } report: { _ in
                    configuration.onPause?()
                }
                return channel.pipeline.addHandler(pause)
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try configure(channel, connections, responder, uploads) }
            }
        let listener: any Channel
        do {
            listener = try await bootstrap.bind(host: configuration.host, port: configuration.port).get()
        } catch {
            await uploads?.service.shutDown()
            throw OriginError(bindError: error, host: configuration.host, port: configuration.port)
        }
        guard let local = listener.localAddress, let host = local.ipAddress, let port = local.port else {
            preconditionFailure("A listener on a host and a port has an address with both")
        }
        let address = Address(host: host, port: port, isSecure: configuration.tls != nil)
        return OriginServer(
            listener: listener,
            address: address,
            connections: connections,
            responder: responder,
            uploads: uploads
        )
    }

    /// Registers the SHA-256 of a served file's current state, 32 bytes, so that responses needn't compute it. Does
    /// nothing if the file isn't served.
    ///
    /// - Parameter name: a name in the served folder.
    public func remember(sha256: [UInt8], ofFile name: String) async {
        let responder = responder
        let tag = try? await responder.threadPool.runIfActive {
            try responder.folder.open(components: [name], isFolder: false).metadata.entityTag
        }
        if let tag, let digest = ReprDigest(sha256: sha256) { await responder.digests.remember(digest, for: tag) }
    }

    /// The number of open connections.
    public var connectionCount: Int { connections.count }

    /// Stops accepting connections, closes idle ones, lets responses in progress finish, and closes the rest after
    /// `OriginLimits.shutdownTimeout`. Returns when all connections are closed. May be called again.
    public func shutdown() async {
        // Already closed if this isn't the first call.
        try? await listener.close().get()
        let (channels, isFirst) = connections.beginClosing()
        let limit = listener.eventLoop.scheduleTask(in: limits.shutdownTimeout) {
            for channel in channels { channel.close(promise: nil) }
        }
        for channel in channels where isFirst {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        for channel in channels { try? await channel.closeFuture.get() }
        limit.cancel()
        await responder.digests.shutDown()
        if isFirst { await uploads?.service.shutDown() }
    }

    /// Configures a new connection.
    static func configure(
        _ channel: any Channel,
        _ connections: ConnectionRegistry,
        _ responder: Responder,
        _ uploads: UploadEndpoint? = nil
    ) throws {
        let admission = connections.admit(channel)
        guard admission != .dropped else { throw ChannelError.eof }
        let service = ConnectionService(
            responder: responder,
            uploads: admission == .served ? uploads : nil,
            isRefused: admission == .refused
        )
        guard let tls = responder.configuration.tls else { return try service.configureHTTP1(on: channel) }
        let timeout = channel.eventLoop.scheduleTask(in: responder.configuration.limits.idleTimeout) {
            channel.close(promise: nil)
        }
        try tls.start(on: channel).whenComplete { result in
            timeout.cancel()
            guard case .success(let agreed) = result else { return }
            do {
                switch agreed {
                case .http1: try service.configureHTTP1(on: channel)
                case .http2: try service.configureHTTP2(on: channel, tls)
                }
            } catch {
                channel.close(promise: nil)
            }
        }
    }
}

extension OriginError {
    /// Classifies a failure to listen on `host` and `port`.
    fileprivate init(bindError error: any Error, host: String, port: Int) {
        guard let error = error as? IOError else {
            self.init(code: .unknownHost, subject: host, cause: nil)
            return
        }
        let errno = Errno(rawValue: error.errnoCode)
        let code: Code =
            switch errno {
            case .addressInUse: .addressInUse
            case .addressNotAvailable: .addressNotAvailable
            case .permissionDenied: .addressForbidden
            default: .listenFailed
            }
        self.init(code: code, subject: "\(host):\(port)", cause: Cause(call: "bind", errno: errno))
    }
}
