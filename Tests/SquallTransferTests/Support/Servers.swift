import EventLoop
import FaultPlan
import FaultProfile
import Foundation
import HTTPTransport
import OriginServer
import ProxyEngine
import SquallTransfer
import Units

/// A temporary folder of a test.
final class Folder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("squall-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
    }

    /// The names in the folder, sorted.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

    func bytes(of name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: file(name)).map { [UInt8]($0) }
    }
}

/// `count` bytes without a period, so that wrong offsets are detected.
func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }
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
    do {
        let result = try await body(server.address.url, server.address.host, server.address.port)
        await server.shutdown()
        return result
    } catch {
        await server.shutdown()
        throw error
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
    let result: Swift.Result<Result, any Error>
    do {
        result = .success(try await body("http://127.0.0.1:\(proxy.address.port)"))
    } catch {
        result = .failure(error)
    }
    await proxy.stop()
    await loops.stop()
    return try result.get()
}
