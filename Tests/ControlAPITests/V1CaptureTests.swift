import Foundation
import HTTPTypes
import Testing

@testable import ControlAPI

/// Captures by requests.
@Suite(.timeLimit(.minutes(2))) struct V1CaptureTests {
    private static let path = "/v1/capture"

    @Test func `a capture has the connections that begin while it runs, and is downloaded when it has ended`()
        async throws
    {
        try await withV1 { api in
            try await api.create("a")
            try await api.client(of: "a").close()
            let none = try await api.send(.get, V1CaptureTests.path)
            #expect(none.string("state") == "none" && none.value("bytes") == nil)
            let changes = api.journal.notices.changes
            let started = try await api.send(.put, V1CaptureTests.path, #"{"limit":"1 MiB","snap":"96 B"}"#)
            #expect(api.journal.notices.changes == changes + 1)
            #expect(started.status == 201 && started.string("state") == "running", "\(started.text)")
            try await api.client(of: "a").close()
            let early = try await api.send(.get, "/v1/capture/file")
            #expect(early.status == 409 && early.string("code") == "conflict")
            let again = try await api.send(.put, V1CaptureTests.path, "{}")
            #expect(again.status == 409)
            let ended = try await api.send(.delete, V1CaptureTests.path)
            #expect(api.journal.notices.changes == changes + 2)
            #expect(ended.string("state") == "stopped" && ended.number("dropped") == 0 && ended.value("failure") == nil)
            let file = try await api.send(.get, "/v1/capture/file")
            var bytes: [UInt8] = []
            for await part in try #require(file.stream) { bytes += part }
            #expect(file.fields[.contentType] == "application/vnd.tcpdump.pcap" && bytes.count == ended.number("bytes"))
            // The head of a section, and the byte of the second client on both legs and in both directions.
            #expect(bytes.prefix(4) == [0x0A, 0x0D, 0x0D, 0x0A] && bytes.count > 1_000)
            // A second time is no error, and another capture replaces this one.
            #expect(try await api.send(.delete, V1CaptureTests.path).string("state") == "stopped")
            #expect(try await api.send(.put, V1CaptureTests.path, "{}").status == 201)
        }
    }

    @Test(arguments: [
        (#"{"connections":"2"}"#, 1), (#"{"proxies":["a","c"]}"#, 2), (#"{"proxies":["c"]}"#, 0), ("{}", 3),
    ])
    func `a capture of some connections or proxies leaves the others out`(body: String, count: Int) async throws {
        try await withV1 { api in
            try await api.create("a")
            try await api.create("b")
            #expect(try await api.send(.put, V1CaptureTests.path, body).status == 201)
            for name in ["a", "a", "b"] { try await api.client(of: name).close() }
            _ = try await api.send(.delete, V1CaptureTests.path)
            var bytes: [UInt8] = []
            for await part in try #require(try await api.send(.get, "/v1/capture/file").stream) { bytes += part }
            // The option of a SYN or of its answer alone, on each leg: the window scale of 14.
            let marks = bytes.indices.dropLast(3).count { Array(bytes[$0..<$0 + 4]) == [1, 3, 3, 14] }
            #expect(marks == count * 4, "\(marks)")
        }
    }

    @Test(arguments: [
        (#"{"limit":"1 KiB"}"#, "limit is 1 MiB or more"), (#"{"snap":"some"}"#, "snap: "), (#"{"snap":9}"#, "a text"),
        (#"{"path":"/etc/passwd"}"#, "the keys are limit, snap, connections, proxies"),
        (#"{"connections":"2..1"}"#, "write 3, 1..2 or 3.."), (#"{"proxies":[7]}"#, "are names"),
    ])
    func `wrong settings start none`(body: String, reason: String) async throws {
        try await withV1 { api in
            let answer = try await api.send(.put, V1CaptureTests.path, body)
            #expect(answer.status == 400 && answer.string("detail").contains(reason), "\(answer.text)")
            #expect(try await api.send(.get, V1CaptureTests.path).string("state") == "none")
            #expect(try await api.send(.get, "/v1/capture/file").string("code") == "capture-not-found")
        }
    }
}
