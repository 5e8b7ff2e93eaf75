import Testing
import TransferClient
import TransferProtocol
import Units

@testable import TerminalDisplay
@testable import TransferReports

/// Progress derived from events, in virtual time.
struct ProgressTrackerTests {
    private func at(_ milliseconds: Int64) -> Moment { .zero + .milliseconds(milliseconds) }

    @Test func `the rate is that of the last five seconds`() {
        var meter = RateMeter()
        meter.move(0, at: at(0))
        #expect(meter.bytesPerSecond(at: at(400)) == nil)
        // 1,000 bytes per second for 10 s, then 4,000.
        for step in Int64(1)...100 { meter.move(100, at: at(step * 100)) }
        #expect(meter.bytesPerSecond(at: at(10_000)) == 1_000)
        for step in Int64(1)...25 { meter.move(400, at: at(10_000 + step * 100)) }
        #expect(meter.bytesPerSecond(at: at(12_500)) == 2_500)
        for step in Int64(26)...60 { meter.move(400, at: at(10_000 + step * 100)) }
        #expect(meter.bytesPerSecond(at: at(16_000)) == 4_000)
        #expect(meter.count <= 22)
        // No further bytes.
        #expect(meter.bytesPerSecond(at: at(30_000)) == 0)
    }

    @Test func `the time of a wait isn't counted`() {
        var meter = RateMeter()
        meter.move(0, at: at(0))
        meter.move(2_000, at: at(2_000))
        meter.pause(at: at(2_000))
        #expect(meter.bytesPerSecond(at: at(60_000)) == 1_000)
        meter.move(0, at: at(62_000))
        meter.move(2_000, at: at(64_000))
        #expect(meter.bytesPerSecond(at: at(64_000)) == 1_000)
    }

    @Test func `samples are few, however often bytes come`() {
        var meter = RateMeter()
        for step in Int64(0)..<100_000 { meter.move(1, at: at(step)) }
        #expect(meter.count <= 22)
        #expect(meter.bytesPerSecond(at: at(100_000)).map { Int($0.rounded()) } == 1_000)
    }

    @Test func `a download counts its received bytes, its resumptions and their offsets`() {
        var tracker = ProgressTracker()
        tracker.note(TransferEvent.started(completed: 100), at: at(0))
        #expect(tracker.snapshot(at: at(0)) == ProgressSnapshot(bytes: 100))
        tracker.note(TransferEvent.resumed(offset: 100), at: at(10))
        tracker.note(TransferEvent.progress(completed: 600, total: 1_000), at: at(1_000))
        var snapshot = tracker.snapshot(at: at(1_000))
        #expect(snapshot == ProgressSnapshot(bytes: 600, total: 1_000, rate: 500, resumptions: 1, marks: [100]))
        tracker.note(TransferEvent.retrying(in: .seconds(3), .stalled, .backoff(attempts: 2)), at: at(1_000))
        snapshot = tracker.snapshot(at: at(2_800))
        #expect(snapshot.pause == .waiting(.milliseconds(1_200), reason: "the transfer stalled"))
        #expect(tracker.snapshot(at: at(9_000)).pause == .trying(reason: "the transfer stalled"))
        tracker.note(TransferEvent.resumed(offset: 600), at: at(9_000))
        snapshot = tracker.snapshot(at: at(9_000))
        #expect(snapshot.pause == nil)
        #expect(snapshot.marks == [100, 600])
        tracker.note(TransferEvent.restarted(.rangeIgnored), at: at(9_100))
        snapshot = tracker.snapshot(at: at(9_100))
        #expect(snapshot.bytes == 0 && snapshot.marks.isEmpty && snapshot.resumptions == 2)
        #expect(snapshot.total == 1_000)
    }

    @Test func `an upload goes back to what the server has`() {
        var tracker = ProgressTracker()
        tracker.note(TransferEvent.started(total: 1_000, isContinued: false), at: at(0))
        tracker.note(TransferEvent.progress(completed: 0, sent: 800, total: 1_000), at: at(1_000))
        tracker.note(TransferEvent.retrying(in: .zero, .noProgress, .differentRequest), at: at(1_000))
        tracker.note(TransferEvent.resumed(offset: 500), at: at(1_100))
        let snapshot = tracker.snapshot(at: at(1_100))
        #expect(snapshot.bytes == 500 && snapshot.resumptions == 1 && snapshot.marks == [500])
        tracker.note(TransferEvent.resumed(offset: 0), at: at(1_200))
        #expect(tracker.snapshot(at: at(1_200)).resumptions == 1, "from the beginning it isn't resumed")
    }

    @Test func `an immediate attempt is shown when it brings nothing for a second`() {
        var tracker = ProgressTracker()
        tracker.note(TransferEvent.started(completed: 0), at: at(0))
        tracker.note(TransferEvent.retrying(in: .zero, .connectTimedOut, .progress(1)), at: at(0))
        #expect(tracker.snapshot(at: at(999)).pause == nil)
        #expect(tracker.snapshot(at: at(1_000)).pause == .trying(reason: "the connection took too long"))
        tracker.note(TransferEvent.progress(completed: 1, total: nil), at: at(1_001))
        #expect(tracker.snapshot(at: at(1_001)).pause == nil)
    }

    @Test func `a wait for the network lasts until something happens, and isn't counted`() {
        var tracker = ProgressTracker()
        tracker.note(TransferEvent.started(completed: 0), at: at(0))
        tracker.note(TransferEvent.progress(completed: 1_000, total: 2_000), at: at(1_000))
        tracker.note(TransferEvent.waitingForNetwork, at: at(1_000))
        #expect(tracker.snapshot(at: at(60_000)).pause == .withoutNetwork)
        tracker.note(TransferEvent.progress(completed: 2_000, total: 2_000), at: at(61_000))
        #expect(tracker.snapshot(at: at(61_000)).pause == nil)
        #expect(tracker.snapshot(at: at(61_000)).rate == 2_000)
    }

    @Test func `more resumptions than can be marked are only counted`() {
        var tracker = ProgressTracker()
        tracker.note(TransferEvent.started(completed: 0), at: at(0))
        for offset in Int64(1)...256 { tracker.note(TransferEvent.resumed(offset: offset), at: at(offset)) }
        #expect(tracker.snapshot(at: at(300)).marks.count == ProgressTracker.maximumMarks)
        for offset in Int64(257)...1_000 { tracker.note(TransferEvent.resumed(offset: offset), at: at(offset)) }
        #expect(tracker.snapshot(at: at(1_000)).marks.isEmpty)
        #expect(tracker.snapshot(at: at(1_000)).resumptions == 1_000)
    }
}
