import FaultPlan
import FaultProfile
import Foundation
import Glibc
import OperatingSystem
import Synchronization
import TestSockets
import Testing
import Units

@testable import ProxyEngine

/// What the journal writes of a fault that acts very often.
@Suite("The journal")
struct JournalTests {
    private struct Line: Decodable {
        var connection: UInt64?
        var event: String?
        var fault: String?
        var lines: Int?
        var what: String?
    }

    /// The lines after the header of the journal that `body` writes to a new file.
    private func written(isHeld: Bool = false, _ body: (Journal, LineWriter) async throws -> Void) async throws
        -> [Line]
    {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID()).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try LineWriter(path: path, isHeld: isHeld)
        try await body(Journal(writer, header: JournalTests.header), writer)
        writer.flush()
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst().map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
    }

    private static let header = JournalHeader(version: "1", profile: Profile(name: "x"), digest: "", proxies: [])

    private static func entry(_ fault: String, connection: UInt64, at moment: Moment) -> JournalEntry {
        JournalEntry(
            moment: moment,
            proxy: "p",
            connection: connection,
            direction: nil,
            fault: fault,
            offset: 7,
            effect: .stalls
        )
    }

    @Test
    func `writes 2,000 lines of a fault in a second, counts the others, and tells them at the end`() async throws {
        let lines = try await written { journal, writer in
            // All in one second, whenever the test runs.
            let moment = Moment(nanoseconds: MonotonicClock.now.nanoseconds / 1_000_000_000 * 1_000_000_000)
            for number in 1...2_345 as ClosedRange<UInt64> {
                journal.record(JournalTests.entry("stall \"1\"", connection: number, at: moment))
            }
            #expect(journal.finish() == 345)
            #expect(writer.flush().dropped == 0)
        }
        #expect(lines.filter { $0.what == "stalls" }.count == 2_000)
        #expect(lines.last?.event == "omitted" && lines.last?.lines == 345 && lines.last?.fault == "stall \"1\"")
    }

    @Test func `the lines of each thread are in the order in which it recorded them`() async throws {
        let (threads, count) = (4, 900 as UInt64)
        let lines = try await written { journal, _ in
            let moment = Moment(nanoseconds: 5_000_000_000)
            await withTaskGroup(of: Void.self) { group in
                for thread in 0..<threads {
                    group.addTask {
                        try? await blocking {
                            for number in 1...count {
                                journal.record(JournalTests.entry("\(thread)", connection: number, at: moment))
                            }
                        }
                    }
                }
            }
        }
        for thread in 0..<threads {
            #expect(lines.filter { $0.fault == "\(thread)" }.compactMap(\.connection) == Array(1...count))
        }
    }

    @Test func `a queue that is full drops what comes, and the writer counts it`() async throws {
        let count = UInt64(JournalQueue.limit + 1_234)
        let lines = try await written(isHeld: true) { journal, writer in
            // A second for each entry, so that the quota takes them all.
            for number in 1...count {
                let moment = Moment(nanoseconds: Int64(number) * 1_000_000_000)
                journal.record(JournalTests.entry("stall", connection: number, at: moment))
            }
            writer.release()
            let outcome = writer.flush()
            #expect(outcome.dropped == 1_234 && outcome.failure == nil)
            journal.noteLost(outcome.dropped)
        }
        #expect(lines.dropLast().compactMap(\.connection) == Array(1...UInt64(JournalQueue.limit)))
        #expect(lines.last?.event == "omitted" && lines.last?.lines == 1_234)
    }

    @Test func `lines are encoded on the writer's thread, never on the one that records`() async throws {
        let encoding = Slot<UInt>()
        let writer = try LineWriter(path: "/dev/null")
        let journal = Journal(writer, header: JournalTests.header) { _ in
            encoding.put(UInt(pthread_self()))
            return "line"
        }
        try await blocking {
            for number in 1...100 as ClosedRange<UInt64> {
                journal.record(JournalTests.entry("stall", connection: number, at: Moment(nanoseconds: 1)))
            }
            journal.finish()
            let recording = UInt(pthread_self())
            let threads = Set(try (1...100).map { _ in try encoding.next() })
            #expect(!threads.contains(recording))
        }
    }

    @Test func `when nothing can be written, every entry counts as lost`() async throws {
        let writer = try LineWriter(path: "/dev/full")
        let journal = Journal(writer, header: JournalTests.header)
        for number in 1...10 as ClosedRange<UInt64> {
            journal.record(JournalTests.entry("stall", connection: number, at: Moment(nanoseconds: 1)))
            writer.flush()
        }
        let outcome = writer.flush()
        #expect(outcome.failure == SystemError(call: "write", code: ENOSPC))
        // The header is a line as well.
        #expect(outcome.dropped == 11)
    }
}
