import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import OriginServer
import ResumableUploads
import TestStreams
import Testing
import TransferProtocol

extension OriginLimits {
    /// Limits without timeouts that a busy machine could hit; tests of a timeout set it.
    static let patient: OriginLimits = {
        var limits = OriginLimits()
        limits.headTimeout = .hours(1)
        limits.contentRateWindow = .hours(1)
        limits.idleTimeout = .hours(1)
        limits.stallTimeout = .hours(1)
        limits.lingerTimeout = .hours(1)
        return limits
    }()
}

/// A server over a temporary folder, for one test.
struct TestOrigin: Sendable {
    /// The `Date` of every response: a day after the files' mtime.
    static let now = "Sun, 22 Nov 2026 12:00:00 GMT"
    static let modified = "Sat, 21 Nov 2026 12:00:00 GMT"

    let server: OriginServer
    /// The served folder. Its parent belongs to the test too.
    let folder: URL
    let records: Records

    /// The request log, as it grows.
    final class Records: Sendable {
        private let stream = AsyncStream<RequestRecord>.makeStream()

        func append(_ record: RequestRecord) { stream.continuation.yield(record) }

        /// Waits for the next record.
        func next() async -> RequestRecord? {
            var iterator = stream.stream.makeAsyncIterator()
            return await iterator.next()
        }
    }

    static func with<Result: Sendable>(
        _ files: [String: [UInt8]] = ["file.bin": TestOrigin.content],
        limits: OriginLimits = .patient,
        tls: (any ServerTLS)? = nil,
        takesUploads: Bool = false,
        _ body: (TestOrigin) async throws -> Result
    ) async throws -> Result {
        let parent = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let folder = parent.appendingPathComponent("served")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: parent) }
        let now = try #require(HTTPDate(Self.now))
        let records = Records()
        var configuration = OriginConfiguration(
            folder: folder.path,
            limits: limits,
            now: { now },
            onRequest: { records.append($0) }
        )
        configuration.tls = tls
        if takesUploads { configuration.uploads = OriginConfiguration.Uploads(folder: folder.path) }
        let server = try await OriginServer.start(configuration)
        let origin = TestOrigin(server: server, folder: folder, records: records)
        return try await ending(origin) { origin in
            for (name, bytes) in files { try origin.write(bytes, to: name) }
            return try await body(origin)
        } by: {
            await server.shutdown()
        }
    }

    /// 1,000 bytes that depend on their position.
    static let content = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }

    func url(_ name: String) -> URL { folder.appendingPathComponent(name) }

    func write(_ bytes: [UInt8], to name: String) throws {
        let url = url(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
        try setModified(name, to: Self.modified)
    }

    func setModified(_ name: String, to date: String) throws {
        let seconds = Double(try #require(HTTPDate(date)).secondsSinceEpoch)
        let attributes = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: seconds)]
        try FileManager.default.setAttributes(attributes, ofItemAtPath: url(name).path)
    }

    /// Creates a sparse file of `size` zeros.
    func writeSparse(_ size: Int, to name: String) throws {
        try write([], to: name)
        try truncate(name, to: size)
    }

    func truncate(_ name: String, to size: Int) throws {
        let handle = try FileHandle(forWritingTo: url(name))
        try handle.truncate(atOffset: UInt64(size))
        try handle.close()
    }

    /// The response to one request with a Host field and `fields`, on its own connection.
    func response(
        _ method: String = "GET",
        _ target: String = "/file.bin",
        _ fields: String...
    ) async throws -> RawConnection.Response {
        try await RawConnection.with(port: server.address.port) { connection in
            let lines = ["\(method) \(target) HTTP/1.1", "Host: a"] + fields
            try await connection.send(lines.map { $0 + "\r\n" }.joined() + "\r\n")
            return try await connection.response(isHead: method == "HEAD")
        }
    }

    /// Everything that the server sends in response to these bytes, until it closes.
    func everything(_ request: String) async throws -> String {
        try await RawConnection.with(port: server.address.port) { connection in
            try await connection.send(request)
            return String(decoding: await connection.rest(), as: UTF8.self)
        }
    }
}
