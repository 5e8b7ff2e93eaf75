import EventLoop
import FaultPlan
import FaultProfile
import Foundation
import ProxyEngine
import Testing
import Units

/// What the journal writes of a fault that acts very often.
@Suite("The journal")
struct JournalTests {
    private struct Line: Decodable {
        var event: String?
        var fault: String?
        var lines: Int?
        var what: String?
    }

    @Test
    func `writes 2,000 lines of a fault in a second, counts the others, and tells them at the end`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID()).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try LineWriter(path: path)
        let header = JournalHeader(version: "1", profile: Profile(name: "x"), digest: "", proxies: [])
        let journal = Journal(writer, header: header)
        // All in one second, whenever the test runs.
        let moment = Moment(nanoseconds: MonotonicClock.now.nanoseconds / 1_000_000_000 * 1_000_000_000)
        for number in 0..<2_345 as Range<UInt64> {
            journal.record(
                JournalEntry(
                    moment: moment,
                    proxy: "p",
                    connection: number + 1,
                    direction: nil,
                    fault: "stall \"1\"",
                    offset: 7,
                    effect: .stalls
                )
            )
        }
        #expect(journal.finish() == 345)
        #expect(writer.flush().dropped == 0)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let lines = try text.split(separator: "\n").dropFirst().map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
        #expect(lines.filter { $0.what == "stalls" }.count == 2_000)
        #expect(lines.last?.event == "omitted" && lines.last?.lines == 345 && lines.last?.fault == "stall \"1\"")
    }
}
