import EventLoop
import Foundation
import Glibc
import Testing

struct SchedulingTests {
    /// The length of a turn of the calling thread, in nanoseconds; `nil` where Linux doesn't tell it.
    private static func turnLength() -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/thread-self/sched", encoding: .utf8) else { return nil }
        let line = text.split(separator: "\n").first { $0.hasPrefix("se.slice") }
        return line?.split(separator: ":").last.flatMap { Int($0.trimmingCharacters(in: .whitespaces)) }
    }

    /// Whether a thread may ask for the length of its turns, which Linux grants from 6.12 on, and the length can be read.
    private static var canAskForTurns: Bool {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        return (version.majorVersion, version.minorVersion) >= (6, 12) && turnLength() != nil
    }

    @Test(.enabled(if: canAskForTurns, "Linux 6.12 or newer, whose /proc/thread-self/sched tells of slices"))
    func `a loop has short turns, and others keep theirs`() async throws {
        let others = Self.turnLength()
        try await withLoop { loop in
            let length = try await loop.run { Self.turnLength() }
            #expect(length == 100_000)
        }
        #expect(others != 100_000)
    }

    @Test func `a loop keeps the niceness of the process`() async throws {
        await #expect(processExitsWith: .success) {
            let process = __priority_which_t(PRIO_PROCESS.rawValue)
            #expect(setpriority(process, 0, 7) == 0)
            try await withLoop { loop in
                let niceness = try await loop.run { getpriority(process, 0) }
                #expect(niceness == 7)
            }
        }
    }
}
