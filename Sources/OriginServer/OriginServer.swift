import HTTPSemantics
import HTTPTransport
import NIOCore
import NIOHTTP1
import NIOPosix
import SystemPackage
import TransferProtocol

/// A server for the files below a folder, made for transfers that are interrupted and resumed: by HTTP/1.1, plain or over
/// TLS, and by HTTP/2 over TLS.
///
/// GET and HEAD with single byte ranges, preconditions, strong entity tags and digests of the whole file (RFC 9110, RFC
/// 9112, RFC 9530). What it doesn't serve: hidden files (a name on the way starts with a dot), partial files of
/// the transfer client (`.squall-part` in a name), names that aren't UTF-8, listings of folders. A path that ends in a
/// slash means the `index.html` in that folder; the path of a folder without the slash is redirected there.
///
/// Needs Linux with `/proc`.
public final class OriginServer: Sendable {
    /// Where a server listens.
    public struct Address: Hashable, Sendable {
        /// The numeric address.
        public let host: String
        /// The port, never 0.
        public let port: Int

        /// Whether clients have to speak TLS.
        public let isSecure: Bool

        /// The root of the server as a URL, without a slash at the end.
        public var url: String {
            (isSecure ? "https://" : "http://") + (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
        }
    }

    /// Where this server listens.
    public let address: Address

    private let listener: any Channel
    private let connections: ConnectionRegistry
    private let responder: Responder
    private let limits: OriginLimits
    private let uploads: UploadSite?

    private init(
        listener: any Channel,
        address: Address,
        connections: ConnectionRegistry,
        responder: Responder,
        uploads: UploadSite?
    ) {
        self.uploads = uploads
        self.listener = listener
        self.address = address
        self.connections = connections
        self.responder = responder
        limits = responder.configuration.limits
    }

    /// Starts a server; it accepts connections by the time this returns, and serves until `shutdown()`.
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
        var tls: TLSServer?
        if let identity = configuration.tls {
            do throws(TLSSettingsProblem) {
                tls = try TLSServer(identity, offersHTTP2: configuration.offersHTTP2)
            } catch {
                throw OriginError(code: .identityUnusable, subject: error.description, cause: nil)
            }
        }
        let uploads = try await UploadSite.open(configuration)
        let connections = ConnectionRegistry(limits: configuration.limits)
        let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { [tls] channel in
                channel.eventLoop.makeCompletedFuture { try configure(channel, connections, responder, uploads, tls) }
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
        let address = Address(host: host, port: port, isSecure: tls != nil)
        return OriginServer(
            listener: listener,
            address: address,
            connections: connections,
            responder: responder,
            uploads: uploads
        )
    }

    /// Takes the SHA-256 of a served file as it is now, 32 bytes, so that no answer waits until it is computed. Does nothing
    /// where the server wouldn't serve a file.
    ///
    /// - Parameter name: a name in the served folder.
    public func remember(sha256: [UInt8], ofFile name: String) async {
        let responder = responder
        let tag = try? await responder.threadPool.runIfActive {
            try responder.folder.open(components: [name], isFolder: false).facts.entityTag
        }
        if let tag, let digest = ReprDigest(sha256: sha256) { await responder.digests.remember(digest, for: tag) }
    }

    /// How many connections are open.
    public var connectionCount: Int { connections.count }

    /// Stops: takes no further connection, closes those that are between requests, lets the others finish their answer,
    /// and closes what is left after `OriginLimits.shutdownTimeout`. Returns once every connection is closed; calling
    /// it again is fine.
    public func shutdown() async {
        // Closed already, when this isn't the first call.
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

    /// Makes a fresh connection serve requests.
    static func configure(
        _ channel: any Channel,
        _ connections: ConnectionRegistry,
        _ responder: Responder,
        _ uploads: UploadSite? = nil,
        _ tls: TLSServer? = nil
    ) throws {
        let admission = connections.admit(channel)
        guard admission != .dropped else { throw ChannelError.eof }
        let service = ConnectionService(
            responder: responder,
            uploads: admission == .served ? uploads : nil,
            isRefused: admission == .refused
        )
        guard let tls else { return try service.speakHTTP1(on: channel) }
        let patience = channel.eventLoop.scheduleTask(in: responder.configuration.limits.idleTimeout) {
            channel.close(promise: nil)
        }
        try tls.start(on: channel).whenComplete { result in
            patience.cancel()
            guard case .success(let agreed) = result else { return }
            do {
                switch agreed {
                case .http1: try service.speakHTTP1(on: channel)
                case .http2: try service.speakHTTP2(on: channel)
                }
            } catch {
                channel.close(promise: nil)
            }
        }
    }
}

extension OriginError {
    /// What went wrong in listening on `host` and `port`.
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
