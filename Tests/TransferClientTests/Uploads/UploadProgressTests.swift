import Synchronization
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// Acknowledgements of the server in events, and violations of them.
@Suite(.timeLimit(.minutes(5))) struct UploadProgressTests {
    private static let bytes = testBytes(900_000)

    @Test func `progress counts what the server has promised, while the request is still running`() async throws {
        try await withUploadServer(.dialect(.v10)) { server in
            let folder = try UploadFolder(Self.bytes)
            let attempted = await upload(folder, folder.request(server.url)) { $0.progressInterval = .zero }
            #expect(attempted.summary?.connections == 1)
            let reported = attempted.events.compactMap { event -> (sent: Int64, acknowledged: Int64)? in
                if case .progress(let acknowledged, let sent?, _) = event { (sent, acknowledged) } else { nil }
            }
            // The server acknowledges every 32 KiB.
            #expect(reported.map(\.acknowledged).max() ?? 0 >= 800_000)
            #expect(
                zip(reported, reported.dropFirst()).allSatisfy {
                    $0.acknowledged <= $1.acknowledged && $0.sent <= $1.sent
                }
            )
            #expect(reported.allSatisfy { $0.acknowledged <= $0.sent })
        }
    }

    @Test func `an offset below an acknowledged one fails the upload, which is cancelled on the server`() async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 1 ? 400_000 : nil }
        habits.toldOffset = { _ in 1 }
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            let attempted = await upload(folder, folder.request(server.url))
            guard case .refused(.violation(.offsetWentBack(_, got: 1))) = attempted.error else {
                Issue.record("\(attempted.result)")
                return
            }
            #expect(attempted.error?.disposition == .final)
            #expect(server.requests.map(\.method) == ["PUT", "HEAD", "DELETE"])
            #expect(server.delivered.isEmpty)
            #expect(folder.journalNames.isEmpty)
        }
    }
}
