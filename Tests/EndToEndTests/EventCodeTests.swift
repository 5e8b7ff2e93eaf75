import Foundation
import TestUploadServers
import Testing

/// The codes in JSON events of the built command.
@Suite(.timeLimit(.minutes(5))) struct EventCodeTests {
    private struct Report: Decodable {
        var event: String
        var code: String?
        var reason: String?
        var resumable: Bool?
        var status: Int?
    }

    /// The events and exit code of a command; only failure events have a code, and all of them do.
    private func reports(_ arguments: [String], folder: URL) async throws -> (events: [Report], status: Int32) {
        let outcome = try await squall(arguments + ["--events", "json"], folder: folder)
        let reports: [Report] = try decoded(outcome.lines)
        for report in reports {
            #expect(["failed", "retrying", "restarted"].contains(report.event) == (report.code != nil))
            #expect((report.reason != nil) == (report.code != nil))
            #expect((report.resumable != nil) == (report.event == "failed"))
        }
        return (reports, outcome.status)
    }

    /// The codes of all failures are in `FailureCodeTests`.
    @Test(arguments: [(404, "refused", false, 1), (503, "gave-up", true, 75)] as [(Int, String, Bool, Int32)])
    func `a download that fails has a code, and says whether the same command resumes`(
        status: Int,
        code: String,
        isResumable: Bool,
        exitCode: Int32
    ) async throws {
        try await RecordingServer.with(status) { server in
            try await withFolder { folder in
                let url = "http://127.0.0.1:\(server.port)/file.bin"
                let (events, ended) = try await reports(["get", url, "--attempts", "1"], folder: folder)
                let last = try #require(events.last)
                #expect(last.event == "failed")
                #expect(last.code == code)
                #expect(last.resumable == isResumable)
                #expect(last.status == (code == "gave-up" ? nil : status))
                #expect(ended == exitCode)
            }
        }
    }

    @Test func `an upload that fails has a code, and says whether the same command resumes`() async throws {
        var habits = UploadServerHabits()
        habits.refuse = { _, _ in 404 }
        try await withUploadServer(.dialect(.v10), habits) { server in
            try await withFolder { folder in
                try bytes(1_000).write(to: folder.appendingPathComponent("file.bin"))
                let arguments = ["put", "file.bin", server.url, "--state", "state"]
                let (events, ended) = try await reports(arguments, folder: folder)
                let last = try #require(events.last)
                #expect(last.event == "failed" && last.code == "refused")
                #expect(last.resumable == false && last.status == 404)
                #expect(ended == 1)
            }
        }
    }

    @Test func `an unfinished upload that the server refuses names its journal, and the same command resumes`()
        async throws
    {
        var habits = UploadServerHabits()
        habits.cut = { $0 == 0 ? 400_000 : nil }
        habits.refuse = { ordinal, _ in ordinal == 1 ? 403 : nil }
        try await withUploadServer(.dialect(.v10), habits) { server in
            try await withFolder { folder in
                try bytes(900_000).write(to: folder.appendingPathComponent("file.bin"))
                let arguments = ["put", "file.bin", server.url, "--state", "state"]
                let (events, ended) = try await reports(arguments, folder: folder)
                let last = try #require(events.last)
                #expect(last.event == "failed" && last.code == "refused")
                #expect(last.resumable == true && last.status == 403)
                #expect(last.reason?.contains(".squall-upload” to start over") == true)
                #expect(ended == 1)
                #expect(try await reports(arguments, folder: folder).status == 0)
                #expect(server.delivered == [Array(bytes(900_000))])
            }
        }
    }

    @Test func `a wrong input can't be resumed`() async throws {
        try await withFolder { folder in
            let get = try await reports(["get", "ftp://h/f"], folder: folder)
            #expect(get.events.map(\.code) == ["invalid-url"] && get.status == 2)
            let put = try await reports(["put", "missing", "http://h/f", "--state", "state"], folder: folder)
            #expect(put.events.map(\.code) == ["file-system"] && put.status == 2)
            #expect([get.events[0].resumable, put.events[0].resumable] == [false, false])
        }
    }

    @Test func `a retry has the code of its cause`() async throws {
        let cut = #"{"name": "x", "faults": [{"kind": "cut", "at": "60 KB", "when": {"connection": 1}}]}"#
        try await withUploadingOrigin(size: 200_000) { folder, origin in
            try await withProxy(cut, to: origin) { _, address in
                let get = ["get", "http://\(address)/file.bin", "--output", "received.bin"]
                let (events, ended) = try await reports(get, folder: folder)
                #expect(events.filter { $0.event == "retrying" }.map(\.code) == ["connection-lost"])
                #expect(ended == 0)
            }
            try await withProxy(cut, to: origin) { _, address in
                let put = ["put", "file.bin", "http://\(address)/uploaded.bin", "--state", "state"]
                let (events, ended) = try await reports(put, folder: folder)
                #expect(events.filter { $0.event == "retrying" }.map(\.code) == ["connection-lost"])
                #expect(ended == 0)
            }
            // The port of a closed socket has no listener.
            let deaf = try await RecordingServer.with { $0.port }
            let get = ["get", "http://127.0.0.1:\(deaf)/file.bin", "--output", "none.bin", "--attempts", "2"]
            let (events, ended) = try await reports(get, folder: folder)
            #expect(events.filter { $0.event != "started" }.map(\.code) == ["connect-failed", "gave-up"])
            #expect(events.last?.resumable == true && ended == 75)
        }
    }
}
