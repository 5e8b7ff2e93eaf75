import FaultProfile
import Foundation
import Testing

@testable import ControlAPI

/// The queue of transfers, as the page reads it.
@Suite(.timeLimit(.minutes(2))) struct V1QueueTests {
    private struct Unreadable: Error, CustomStringConvertible {
        let description = "the log is damaged"
    }

    @Test func `without a queue there are no jobs`() async throws {
        try await withV1 { api in
            let answer = try await api.send(.get, "/v1/queue")
            #expect(answer.status == 200 && answer.text == #"{"name":null,"jobs":[]}"#, "\(answer.text)")
        }
    }

    @Test(arguments: [false, true])
    func `a queue has its name and its jobs, or the reason why it has none`(isReadable: Bool) async throws {
        let queue = QueueSource(name: "night") {
            guard isReadable else { throw Unreadable() }
            return [.object([("job", .number(1)), ("phase", .text("running"))])]
        }
        try await withV1(queue: queue) { api in
            let answer = try await api.send(.get, "/v1/queue")
            #expect(answer.status == (isReadable ? 200 : 409))
            let text =
                isReadable ? #""jobs":[{"job":1,"phase":"running"}]"# : "the queue can't be read: the log is damaged"
            #expect(answer.text.contains(text), "\(answer.text)")
        }
    }
}
