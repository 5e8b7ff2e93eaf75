import EventLoop
import Foundation
import Testing

@Suite("The thread of a loop")
struct ProcessorTests {
    @Test func `may run on every processor of the process`() async throws {
        let allowed = try #require(processors(of: "self"))
        let loops = try EventLoopGroup(count: 3)
        for loop in loops.loops {
            let found = try await loop.run { processors(of: "thread-self") }
            #expect(found == allowed)
        }
        await loops.stop()
    }

    /// The processors that a thread may use, as proc(5) lists them.
    private func processors(of thread: String) -> String? {
        let status = try? String(contentsOfFile: "/proc/\(thread)/status", encoding: .utf8)
        return status?.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") }.map(String.init)
    }
}
