import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import Testing
import Units

@testable import ControlAPI

/// What a reader of an event stream gets at which time.
@Suite struct EventCursorTests {
    private static func record(_ journal: JournalHub, _ count: Int) {
        for _ in 0..<count {
            journal.record(
                JournalEntry(
                    moment: .zero,
                    proxy: "p",
                    connection: 1,
                    direction: .upstream,
                    fault: "f",
                    kind: FaultKind.Name.allCases[0],
                    offset: nil,
                    effect: .delays
                )
            )
        }
    }

    @Test(arguments: [(nil, 3), (1, 1), (900, 0)] as [(UInt64?, Int)])
    func `a stream begins with its server, and with the number from which a reader goes on`(after: UInt64?, id: Int) {
        let journal = JournalHub()
        EventCursorTests.record(journal, 3)
        let cursor = EventCursor(journal, after: after, samples: nil, at: .zero)
        let start = JournalClock.shared.time(of: journal.start)
        #expect(cursor.beginning == "retry: 1000\n\nevent: server\nid: \(id)\ndata: {\"start\":\"\(start)\"}\n\n")
    }

    @Test func `after 15 s without data comes a comment`() {
        var cursor = EventCursor(JournalHub(), after: nil, samples: nil, at: .zero)
        let step1 = cursor.part(at: .zero + .milliseconds(14_999))
        #expect(step1.isEmpty)
        let step2 = cursor.part(at: .zero + .seconds(15))
        #expect(step2 == ": keep-alive\n\n")
        let step3 = cursor.part(at: .zero + .seconds(29))
        #expect(step3.isEmpty)
        let step4 = cursor.part(at: .zero + .seconds(30))
        #expect(step4 == ": keep-alive\n\n")
    }

    @Test func `samples come in their interval, and missed ones aren't made up for`() {
        var cursor = EventCursor(JournalHub(), after: nil, samples: .milliseconds(100), at: .zero)
        let times = [0, 50, 100, 150, 1_000, 1_050, 1_100].map { cursor.takesSample(at: .zero + .milliseconds($0)) }
        #expect(times == [true, false, true, false, true, false, true])
        var without = EventCursor(JournalHub(), after: nil, samples: nil, at: .zero)
        let step5 = without.takesSample(at: .zero + .seconds(1))
        #expect(!step5)
    }

    @Test func `a slow reader learns how many events it has missed`() {
        let journal = JournalHub()
        var cursor = EventCursor(journal, after: nil, samples: nil, at: .zero)
        EventCursorTests.record(journal, JournalHub.capacity + 5)
        let part = cursor.part(at: .zero)
        #expect(part.hasPrefix("event: lost\ndata: {\"lost\":5}\n\nevent: fault\nid: 6\n"))
        #expect(part.split(separator: "event: fault").count == 1 + EventCursor.partLimit)
        let step6 = cursor.part(at: .zero)
        #expect(step6.hasPrefix("event: fault\nid: 1006\n"))
    }

    @Test func `many changes give one event, and the last 100 problems are kept`() {
        let journal = JournalHub()
        var cursor = EventCursor(journal, after: nil, samples: nil, at: .zero)
        for number in 0..<150 {
            journal.notices.noteChange()
            journal.notices.noteProblem("problem \(number)")
        }
        let part = cursor.part(at: .zero)
        #expect(part.split(separator: "event: problem").count == 100)
        #expect(part.contains("problem 149") && !part.contains("problem 49\""))
        #expect(part.split(separator: "event: change").count == 2)
        let step7 = cursor.part(at: .zero)
        #expect(step7.isEmpty)
    }
}
