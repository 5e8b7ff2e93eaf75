import Foundation
import Testing
import Units

@testable import TransferQueue

/// Which jobs run, by priority, limits, time, network and power.
@Suite struct QueuePlanTests {
    private static let now = QueueTime(secondsSince1970: 1_790_000_000)

    private func state(
        _ transfers: [QueuedTransfer],
        hosts: [String] = [],
        running: Int = 8,
        perHost: Int = 8
    ) throws -> QueueState {
        var limits = QueueLimits()
        (limits.maximumRunning, limits.maximumPerHost) = (running, perHost)
        var state = QueueState(limits: limits)
        for (index, transfer) in transfers.enumerated() {
            let host = index < hosts.count ? hosts[index] : "host"
            state.put(try state.submitted(transfer, host: host, at: Self.now))
        }
        return state
    }

    private func transfer(_ name: String, _ change: (inout QueuedTransfer) -> Void = { _ in }) -> QueuedTransfer {
        var transfer = QueuedTransfer.download("http://host/\(name)", to: "/d/\(name)")
        change(&transfer)
        return transfer
    }

    private func start(_ state: QueueState, _ conditions: QueueConditions? = nil) -> [UInt64] {
        state.plan(running: [], conditions ?? QueueConditions(now: Self.now)).start.map(\.number)
    }

    private func position(_ state: QueueState, _ conditions: QueueConditions) -> QueuePosition? {
        state.plan(running: [], conditions).positions[QueueJobID(1)]
    }

    @Test func `jobs start by priority, then by expected bytes, then by number`() throws {
        let state = try state([
            transfer("1"), transfer("2") { $0.expectedBytesToReceive = 9 },
            transfer("3") { $0.expectedBytesToSend = 5 }, transfer("4") { $0.priority = 1 },
            transfer("5") { $0.isDiscretionary = true },
        ])
        #expect(start(state) == [4, 3, 2, 1])
    }

    @Test func `a job that waited for an hour doesn't let smaller ones go first`() throws {
        var state = try state([transfer("1") { $0.expectedBytesToReceive = 1 << 40 }])
        let later = Self.now + .seconds(3_600)
        state.put(try state.submitted(transfer("2") { $0.expectedBytesToReceive = 1 }, host: "host", at: later))
        #expect(start(state, QueueConditions(now: later)) == [1, 2])
        #expect(start(state, QueueConditions(now: later + .milliseconds(-1))) == [2, 1])
    }

    @Test func `a job whose window has just opened waited for it, and lets smaller ones go first`() throws {
        // 1,790,000,000 is 13:33:20 in UTC.
        let state = try state(
            [1 << 40, 1].map { (size: Int64) in
                transfer("\(size)") { ($0.expectedBytesToReceive, $0.window) = (size, DailyWindow("14:40-06:00")) }
            }
        )
        #expect(start(state, QueueConditions(now: Self.now + .seconds(4_800))) == [2, 1])
        #expect(start(state, QueueConditions(now: Self.now + .seconds(4_000 + 3_600))) == [1, 2])
    }

    @Test func `only an upload that was stopped after it began to send may have been sent`() throws {
        let outcomes: [(QueueOutcome, Bool?)] = [
            (.stopped(hasProgressed: false, mayBeRepeated: false), true), (.stopped(hasProgressed: false), nil),
            (.retry(.diskFull, "full", hasProgressed: false, mayBeRepeated: false), true),
            (.retry(.retry, "refused", hasProgressed: false), nil), (.needs(.credentials, "401"), nil),
            (.failed(.refused, "404"), true),
        ]
        for (outcome, maybe) in outcomes {
            for wasSent in [false, true] {
                var state = try state([.upload("/d/1", to: "http://host/1")])
                if let job = state.started(QueueJobID(1)) { state.put(job) }
                #expect(state.jobs[QueueJobID(1)]?.mayBeSent == true)
                let job = state.ended(QueueJobID(1), outcome, wasSent: wasSent, at: Self.now, fraction: 0)
                if let job { state.put(job) }
                #expect(state.jobs[QueueJobID(1)]?.mayBeSent == (wasSent ? true : maybe), "\(outcome)")
                guard case .failed = outcome else { continue }
                let resumed = try state.resumed(QueueJobID(1), QueueChange(), host: "host", at: Self.now)
                #expect(resumed.mayBeSent == nil, "its owner sends it again")
            }
        }
    }

    @Test func `a disk that is full again is told again, once the job has gone on`() throws {
        var state = try state([transfer("1")])
        func raises(_ hasProgressed: Bool) throws -> Bool {
            let outcome = QueueOutcome.retry(.diskFull, "full", hasProgressed: hasProgressed)
            let earlier = state.jobs[QueueJobID(1)]?.event?.number
            state.put(try #require(state.ended(QueueJobID(1), outcome, at: Self.now, fraction: 0)))
            return state.jobs[QueueJobID(1)]?.event?.number != earlier
        }
        #expect(try raises(false))
        #expect(try !raises(false))
        #expect(try raises(true))
    }

    @Test func `a priority that changes counts at the next start`() throws {
        var state = try state([transfer("1"), transfer("2")], running: 1)
        #expect(start(state) == [1])
        state.put(try state.prioritized(QueueJobID(2), 7))
        #expect(start(state) == [2])
    }

    @Test func `at most so many run in all, and with a host`() throws {
        let transfers = (1...6).map { transfer("\($0)") }
        let state = try state(transfers, hosts: ["a", "a", "a", "b", "b", "c"], running: 4, perHost: 2)
        #expect(start(state) == [1, 2, 4, 5])
        let plan = state.plan(running: [QueueJobID(6), QueueJobID(3)], QueueConditions(now: Self.now))
        #expect(plan.start.map(\.number) == [1, 4])
        #expect(plan.positions[QueueJobID(2)]?.phase == .queued)
        #expect(plan.stop.isEmpty)
    }

    @Test func `a job waits for its earliest begin, and the queue wakes then`() throws {
        let begin = Self.now + .seconds(60)
        let state = try state([transfer("1") { $0.earliestBegin = begin }])
        let plan = state.plan(running: [], QueueConditions(now: Self.now))
        #expect(plan.start.isEmpty)
        #expect(plan.wake == begin)
        #expect(plan.positions[QueueJobID(1)]?.reason == .earliestBegin)
        #expect(start(state, QueueConditions(now: begin)) == [1])
    }

    @Test func `a job whose window is closed waits, and one that runs is stopped at its end`() throws {
        // 1,790,000,000 is 13:33:20 in UTC.
        let state = try state([transfer("1") { $0.window = DailyWindow("22:00-06:00") }])
        let closed = state.plan(running: [QueueJobID(1)], QueueConditions(now: Self.now))
        #expect(closed.stop == [QueueJobID(1)])
        #expect(closed.positions[QueueJobID(1)]?.reason == .window)
        let opening = try #require(closed.wake)
        #expect(start(state, QueueConditions(now: opening + .milliseconds(-1))).isEmpty)
        let open = state.plan(running: [], QueueConditions(now: opening))
        #expect(open.start.count == 1)
        #expect(open.wake == opening + .seconds(8 * 3_600))
        #expect(start(state, QueueConditions(now: Self.now, offset: .seconds(9 * 3_600))) == [1])
    }

    @Test func `a job waits for a route, and for a network that it may use`() throws {
        let state = try state([transfer("1") { $0.allowsExpensive = false }, transfer("2")])
        var conditions = QueueConditions(now: Self.now, isReachable: { _ in false })
        #expect(position(state, conditions)?.reason == .network)
        #expect(state.plan(running: [QueueJobID(2)], conditions).stop == [QueueJobID(2)])
        conditions = QueueConditions(now: Self.now, cost: { _ in .expensive })
        #expect(position(state, conditions)?.reason == .expensive)
        #expect(start(state, conditions) == [2])
        let constrained = try self.state([transfer("1") { $0.allowsConstrained = false }])
        #expect(
            position(constrained, QueueConditions(now: Self.now, cost: { _ in .constrained }))?.reason == .constrained
        )
    }

    @Test func `a job that waits for another try waits for a route instead, if it has none`() throws {
        for (reason, other) in [(QueueReason.retry, QueueReason.network), (.tls, .network), (.locked, .locked)] {
            var state = try state([transfer("1")])
            let outcome = QueueOutcome.retry(reason, "reset", hasProgressed: false)
            state.put(try #require(state.ended(QueueJobID(1), outcome, at: Self.now, fraction: 0)))
            #expect(position(state, QueueConditions(now: Self.now))?.reason == reason)
            #expect(position(state, QueueConditions(now: Self.now, isReachable: { _ in false }))?.reason == other)
        }
    }

    @Test func `an unfinished job may go on with what another has left, by method and URL, or by the file`() throws {
        let left = QueuedTransfer.upload("/d/1", to: "http://host/1")
        let download = QueuedTransfer.download("http://host/1", to: "/d/1")
        func changed(_ method: String) -> QueuedTransfer {
            var transfer = left
            transfer.method = method
            return transfer
        }
        let others: [(QueuedTransfer, QueuedTransfer, Bool)] = [
            (left, left, true), (left, .upload("/d/1", to: "HTTP://Host:80/a/../1#part"), true),
            (left, changed("PUT"), true), (left, changed("POST"), false),
            (left, .upload("/d/1", to: "http://host/2"), false), (left, download, false), (download, left, false),
            (download, .download("http://host/2", to: "/d/1"), true),
            (download, .download("http://host/1", to: "/d/2"), false),
        ]
        for (left, other, isSame) in others {
            var state = try state([left])
            state.put(try state.cancelled(QueueJobID(1)))
            state.put(try state.submitted(other, host: "host", at: Self.now))
            #expect(state.heirs(of: left).map(\.id) == (isSame ? [QueueJobID(2)] : []), "\(other)")
            #expect(state.takingOver(QueueJobID(2))?.hasStarted == true)
            state.put(try state.cancelled(QueueJobID(2)))
            #expect(state.heirs(of: left).isEmpty && state.takingOver(QueueJobID(2)) == nil)
        }
    }

    @Test func `a discretionary job runs alone, on mains power, and is stopped for another`() throws {
        let discretionary = transfer("1") { $0.isDiscretionary = true }
        var state = try state([discretionary, transfer("2") { $0.isDiscretionary = true }])
        #expect(start(state) == [1])
        #expect(position(state, QueueConditions(now: Self.now, isOnMains: false))?.reason == .power)
        state.put(try state.submitted(transfer("3"), host: "host", at: Self.now))
        let plan = state.plan(running: [QueueJobID(1)], QueueConditions(now: Self.now))
        #expect(plan.stop == [QueueJobID(1)])
        #expect(plan.start == [QueueJobID(3)])
        #expect(plan.positions[QueueJobID(1)]?.reason == .busy)
    }

    @Test func `failures are followed by growing waits for ever, and progress starts them anew`() throws {
        var state = try state([transfer("1")])
        var waits: [Duration] = []
        func fail(_ hasProgressed: Bool) throws -> Duration {
            let outcome = QueueOutcome.retry(.retry, "reset", hasProgressed: hasProgressed)
            let job = try #require(state.ended(QueueJobID(1), outcome, at: Self.now, fraction: 0))
            state.put(job)
            guard case .retrying(_, _, let time) = job.stage else { return .zero }
            return time - Self.now
        }
        for _ in 0..<40 { waits.append(try fail(false)) }
        #expect(waits.prefix(8) == [30, 60, 120, 240, 480, 960, 1_920, 3_600].map { .seconds($0) }[...])
        #expect(waits.last == .seconds(3_600))
        #expect(try fail(true) == .seconds(30))
        #expect(state.jobs[QueueJobID(1)]?.event == nil)
    }

    @Test func `a job that may fail twice fails for good the second time, and can be resumed`() throws {
        var state = try state([transfer("1") { $0.maximumFailures = 2 }])
        for _ in 0..<2 {
            let outcome = QueueOutcome.retry(.retry, "reset", hasProgressed: false)
            state.put(try #require(state.ended(QueueJobID(1), outcome, at: Self.now, fraction: 0)))
        }
        #expect(state.jobs[QueueJobID(1)]?.stage == .failed(.failures, "reset"))
        #expect(state.jobs[QueueJobID(1)]?.event?.phase == .failed)
        state.put(try state.resumed(QueueJobID(1), QueueChange(), host: "host", at: Self.now))
        #expect(start(state) == [1])
    }

    @Test func `the time limit of a transfer ends it, whatever it waits for`() throws {
        let state = try state([transfer("1") { $0.timeLimit = .seconds(100) }])
        let conditions = QueueConditions(now: Self.now + .seconds(100), isReachable: { _ in false })
        #expect(state.plan(running: [], conditions).expired == [QueueJobID(1)])
        // One that runs is stopped, and one that could run isn't started.
        let reachable = QueueConditions(now: Self.now + .seconds(100))
        let (running, idle) = (state.plan(running: [QueueJobID(1)], reachable), state.plan(running: [], reachable))
        #expect(running.stop == [QueueJobID(1)] && running.expired == [QueueJobID(1)])
        #expect(idle.start.isEmpty && idle.stop.isEmpty && idle.expired == [QueueJobID(1)])
        let expired = try #require(state.expired(QueueJobID(1)))
        let status = QueueJobStatus(expired, QueuePosition(phase: .waiting, reason: .window), nil)
        #expect(status.phase == .failed && status.reason == .timeLimit && status.message == expired.message)
        let early = QueueConditions(now: Self.now, isReachable: { _ in false })
        #expect(state.plan(running: [], early).wake == Self.now + .seconds(100))
    }

    @Test func `a job without what only its owner has waits, with an event, until it is resumed with it`() throws {
        var state = try state([transfer("1") { $0.headers = [QueueHeader("Authorization", .memory)] }])
        let job = try #require(state.ended(QueueJobID(1), .needs(.credentials, "401"), at: Self.now, fraction: 0))
        state.put(job)
        #expect(job.event?.reason == .credentials)
        #expect(position(state, QueueConditions(now: Self.now + .seconds(9_999)))?.phase == .waiting)
        var change = QueueChange()
        change.url = "http://other/1"
        change.headers = [QueueHeader("authorization", .file("/secret"))]
        state.put(try state.resumed(QueueJobID(1), change, host: "other", at: Self.now))
        #expect(state.jobs[QueueJobID(1)]?.transfer.url == "http://other/1")
        #expect(state.jobs[QueueJobID(1)]?.transfer.headers == [QueueHeader("authorization", .file("/secret"))])
        #expect(start(state) == [1])
    }

    @Test func `calls that have no meaning are refused`() throws {
        var state = try state([transfer("1")])
        #expect(throws: QueueProblem.noJob(QueueJobID(9))) { try state.paused(QueueJobID(9)) }
        #expect(throws: QueueProblem.duplicate(QueueJobID(1), file: "/d/1")) {
            try state.submitted(transfer("1"), host: "host", at: Self.now)
        }
        state.put(try state.cancelled(QueueJobID(1)))
        #expect(throws: QueueProblem.wrongPhase(QueueJobID(1), .cancelled)) { try state.paused(QueueJobID(1)) }
        #expect(throws: QueueProblem.wrongPhase(QueueJobID(1), .cancelled)) {
            try state.resumed(QueueJobID(1), QueueChange(), host: "host", at: Self.now)
        }
        #expect(try state.submitted(transfer("1"), host: "host", at: Self.now).id == QueueJobID(2))
    }

    @Test func `a clock that is set back by years makes no job wait for years`() throws {
        var state = try state([transfer("1")])
        let outcome = QueueOutcome.retry(.retry, "reset", hasProgressed: false)
        state.put(try #require(state.ended(QueueJobID(1), outcome, at: Self.now, fraction: 0)))
        #expect(start(state, QueueConditions(now: QueueTime(secondsSince1970: 0))) == [1])
    }

    @Test(
        arguments: [
            ("22:00-06:00", "22:00-06:00"), ("00:00-23:59", "00:00-23:59"), ("22-06", nil), ("24:00-06:00", nil),
            ("01:00-01:00", nil), ("1:00-02:00", nil), ("01:00", nil), ("01:00-02:00-03:00", nil), ("0a:00-02:00", nil),
        ] as [(String, String?)]
    )
    func `a window is two times of the day`(text: String, read: String?) {
        #expect(DailyWindow(text)?.text == read)
    }

    @Test func `times beyond the last and before the first saturate`() {
        #expect(QueueTime(secondsSince1970: .max) == QueueTime(milliseconds: .max))
        #expect(QueueTime(secondsSince1970: .min) == QueueTime(milliseconds: .min))
        #expect(QueueTime(secondsSince1970: -2) == QueueTime(milliseconds: -2_000))
    }

    @Test func `a header is never printed with its value`() {
        var transfer = QueuedTransfer.download("http://host/", to: "/file")
        transfer.headers = [QueueHeader("Authorization", .plain("secret"))]
        var dumped = ""
        dump(transfer, to: &dumped)
        for text in ["\(transfer)", String(reflecting: transfer), "\(transfer.headers[0])", dumped] {
            #expect(text.contains("Authorization") && !text.contains("secret"))
        }
    }

    @Test func `a window that no day has isn't read`() {
        for text in [#"{"start":9223372036854775807,"end":0}"#, #"{"start":-1,"end":5}"#, #"{"start":5,"end":5}"#] {
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(DailyWindow.self, from: Data(text.utf8)) }
        }
    }
}
