import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import OriginServer

@Suite struct ServerTests {
    private static let get = "GET /file.bin HTTP/1.1\r\nHost: a\r\n\r\n"

    /// The error of a server that fails to start.
    private func startError(_ configuration: OriginConfiguration) async throws -> OriginError {
        try await #require(throws: OriginError.self) { _ = try await OriginServer.start(configuration) }
    }

    @Test func `a folder that can't be served is said so`() async throws {
        try await TestOrigin.with { origin in
            let missing = origin.url("none").path
            let error = try await startError(OriginConfiguration(folder: missing))
            #expect(error.code == .folderMissing)
            #expect(error.cause?.errno == .noSuchFileOrDirectory)
            #expect(error.description.hasPrefix("there is no folder “\(missing)” (open: "))
            #expect(error.description.hasSuffix("; create it, or name another"))
            let file = origin.url("file.bin").path
            #expect(try await startError(OriginConfiguration(folder: file)).code == .notAFolder)
        }
    }

    @Test func `an address that can't be listened on is said so`() async throws {
        try await TestOrigin.with { origin in
            let path = origin.folder.path
            let taken = try await startError(OriginConfiguration(folder: path, port: origin.server.address.port))
            #expect(taken.code == .addressInUse)
            #expect(taken.subject == "127.0.0.1:\(origin.server.address.port)")
            #expect(taken.cause?.call == "bind")
            #expect(taken.cause?.errno == .addressInUse)
            // TEST-NET-1 (RFC 5737) belongs to nobody.
            let foreign = try await startError(OriginConfiguration(folder: path, host: "192.0.2.1"))
            #expect(foreign.code == .addressNotAvailable)
            for port in [-1, 65_536, .max, .min] {
                #expect(try await startError(OriginConfiguration(folder: path, port: port)).code == .invalidPort)
            }
            for host in ["", "no host", "256.256.256.256"] {
                #expect(try await startError(OriginConfiguration(folder: path, host: host)).code == .unknownHost)
            }
        }
    }

    @Test func `every error is one line with a remedy`() {
        for code in OriginError.Code.allCases {
            let description = OriginError(code: code, subject: "x", cause: nil).description
            #expect(!description.contains("\n"))
            #expect(description.contains("; "))
        }
    }

    @Test func `the address is a real one`() async throws {
        try await TestOrigin.with { origin in
            #expect(origin.server.address.host == "127.0.0.1")
            #expect((1...65_535).contains(origin.server.address.port))
            #expect(origin.server.address.url == "http://127.0.0.1:\(origin.server.address.port)")
        }
    }

    @Test func `connections beyond the limit get 503, and far beyond it are closed`() async throws {
        var limits = OriginLimits.patient
        limits.connections = 1
        limits.refusedConnections = 1
        try await TestOrigin.with(limits: limits) { origin in
            let port = origin.server.address.port
            try await RawConnection.with(port: port) { first in
                try await first.send(Self.get)
                #expect(try await first.response().status == 200)
                try await RawConnection.with(port: port) { second in
                    try await second.send(Self.get)
                    let refusal = try await second.response()
                    #expect(refusal.status == 503)
                    #expect(refusal["retry-after"] == "1")
                    #expect(refusal["connection"] == "close")
                    try await RawConnection.with(port: port) { third in #expect(await third.rest() == []) }
                }
                try await first.send(Self.get)
                let again = try await first.response()
                #expect(again.status == 200)
            }
        }
    }

    @Test func `a shutdown closes idle connections and refuses new ones`() async throws {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                try await connection.send(Self.get)
                _ = try await connection.response()
                try await connection.send("GET /half")
                await origin.server.shutdown()
                #expect(origin.server.connectionCount == 0)
                #expect(await connection.rest() == [])
                await #expect(throws: (any Error).self) { _ = try await origin.response() }
                await origin.server.shutdown()
            }
        }
    }

    @Test func `a shutdown lets a response in progress finish`() async throws {
        // Much more than socket buffers hold.
        let size = 16 << 20
        var limits = OriginLimits.patient
        limits.shutdownTimeout = .seconds(120)
        try await TestOrigin.with([:], limits: limits) { origin in
            try origin.writeSparse(size, to: "big.bin")
            try await RawConnection.with(port: origin.server.address.port, receiveBuffer: 65_536) { connection in
                try await connection.send("GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await connection.head()
                async let shutdown: Void = origin.server.shutdown()
                #expect(await connection.rest().count == size)
                await shutdown
            }
            #expect(await origin.records.next()?.ending == .complete)
        }
    }

    @Test func `a shutdown doesn't wait for ever`() async throws {
        var limits = OriginLimits.patient
        limits.shutdownTimeout = .milliseconds(1)
        try await TestOrigin.with([:], limits: limits) { origin in
            try origin.writeSparse(64 << 20, to: "big.bin")
            try await RawConnection.with(port: origin.server.address.port, receiveBuffer: 65_536) { connection in
                try await connection.send("GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await connection.head()
                await origin.server.shutdown()
                #expect(origin.server.connectionCount == 0)
            }
            #expect(await origin.records.next()?.ending == .disconnected)
        }
    }

    @Test func `requests on many connections at once are all answered`() async throws {
        try await TestOrigin.with { origin in
            try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<100 {
                    group.addTask { try await origin.response("GET", "/file.bin", "Want-Repr-Digest: sha-256=9").body }
                }
                for try await body in group { #expect(body == TestOrigin.content) }
            }
        }
    }

    @Test func `a line of the request log has no line breaks, whatever the target`() {
        let record = RequestRecord(
            method: "GET",
            target: "/a\n\u{1B}é",
            status: 206,
            range: .bytes(first: 0, last: 9, total: 100),
            bytesSent: 10,
            bytesReceived: 0,
            duration: .microseconds(1_530),
            ending: .disconnected
        )
        #expect(record.description == "GET /a\\n\\u{1B}\\u{00E9} 206 [bytes 0-9/100] 10 B 1.5 ms disconnected")
    }
}
