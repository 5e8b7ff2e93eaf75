import EventLoop
import FaultPlan
import FaultProfile
import HTTPTransport
import OriginServer
import ProxyEngine
import SquallTransfer
import TestStreams
import Units

extension Folder {
    /// A session with its state in this folder, which tells progress after `progressInterval`, or as usual for `nil`.
    func session(
        progressInterval: Duration? = .zero,
        _ change: (inout TransferConfiguration) -> Void = { _ in }
    ) -> TransferSession {
        var configuration = TransferConfiguration()
        configuration.stateFolder = file("state")
        if let progressInterval { configuration.progressInterval = progressInterval }
        change(&configuration)
        return TransferSession(configuration: configuration)
    }
}

/// Runs `body` with an origin that serves `folder` and accepts uploads.
func withOrigin<Result: Sendable>(
    _ folder: Folder,
    tls: (any ServerTLS)? = nil,
    _ body: (_ url: String, _ host: String, _ port: Int) async throws -> Result
) async throws -> Result {
    var configuration = OriginConfiguration(folder: folder.path)
    configuration.tls = tls
    configuration.uploads = OriginConfiguration.Uploads(folder: folder.path)
    let server = try await OriginServer.start(configuration)
    return try await ending(server.address) {
        try await body($0.url, $0.host, $0.port)
    } by: {
        await server.shutdown()
    }
}

/// Runs `body` with the URL of a proxy in front of a server, with all of `faults` active.
func withFaults<Result: Sendable>(
    _ faults: [FaultKind],
    on stream: StreamSelection,
    before host: String,
    _ port: Int,
    _ body: (_ url: String) async throws -> Result
) async throws -> Result {
    let loops = try EventLoopGroup(count: 1)
    let profile = Profile(
        name: "test",
        faults: faults.enumerated().map { index, kind in
            Fault(name: "fault-\(index)", stream: stream, kind: kind)
        },
        phases: [],
        repeats: false
    )
    let proxy = try await Proxy.start(
        ProxyConfiguration(
            name: "test",
            listen: Endpoint(host: "127.0.0.1", port: 0),
            upstream: Endpoint(host: host, port: UInt16(port)),
            profile: profile,
            seed: 7
        ),
        on: loops
    )
    return try await ending("http://127.0.0.1:\(proxy.address.port)", after: body) {
        await proxy.stop()
        await loops.stop()
    }
}
