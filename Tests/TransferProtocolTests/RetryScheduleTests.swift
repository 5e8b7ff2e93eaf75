import Testing
import TransferProtocol
import Units

@Suite struct RetryScheduleTests {
    private func schedule(seed: UInt64 = 1, _ change: (inout RetryPolicy) -> Void = { _ in }) -> RetrySchedule {
        var policy = RetryPolicy()
        change(&policy)
        return RetrySchedule(policy: policy, generator: SeededGenerator(seed: seed), startedAt: .zero)
    }

    private func wait(_ decision: RetryDecision) -> Duration? {
        switch decision {
        case .wait(let delay): delay
        case .giveUp: nil
        }
    }

    @Test func `waits are drawn from zero up to a span that doubles to 30 s`() {
        var longest = [Duration](repeating: .zero, count: 9)
        var shortest = [Duration](repeating: .seconds(99), count: 9)
        for seed in 0..<400 {
            var schedule = schedule(seed: UInt64(seed))
            for attempt in 0..<9 {
                let delay = wait(schedule.failed(at: .zero)) ?? .seconds(1_000)
                longest[attempt] = max(longest[attempt], delay)
                shortest[attempt] = min(shortest[attempt], delay)
            }
        }
        let spans: [Duration] = [0.5, 1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) }
        for (attempt, span) in spans.enumerated() {
            #expect(longest[attempt] < span && longest[attempt] > span * 0.95)
            #expect(shortest[attempt] < span * 0.05)
        }
    }

    @Test func `the same seed waits the same`() {
        var first = schedule(seed: 5)
        var second = schedule(seed: 5)
        for _ in 0..<9 { #expect(first.failed(at: .zero) == second.failed(at: .zero)) }
    }

    @Test func `the tenth attempt in a row without progress is the last`() {
        var schedule = schedule()
        for _ in 0..<9 { #expect(wait(schedule.failed(at: .zero)) != nil) }
        #expect(schedule.failed(at: .zero) == .giveUp(.attempts(10)))
    }

    @Test func `one MiB beyond the farthest offset starts the count again`() {
        var schedule = schedule()
        for round in 1...5 {
            for _ in 0..<9 { #expect(wait(schedule.failed(at: .zero)) != nil) }
            schedule.reached(Int64(round) << 20)
        }
        schedule.reached(6 << 20 - 1)
        schedule.reached(0)
        schedule.reached(2 << 20)
        for _ in 0..<9 { #expect(wait(schedule.failed(at: .zero)) != nil) }
        #expect(schedule.failed(at: .zero) == .giveUp(.attempts(10)))
    }

    @Test func `Retry-After is a lower bound, and has a bound itself`() {
        var schedule = schedule()
        #expect(schedule.failed(at: .zero, retryAfter: .seconds(600)) == .wait(.seconds(600)))
        #expect(schedule.failed(at: .zero, retryAfter: .seconds(601)) == .giveUp(.retryAfter(.seconds(601))))
        var patient = self.schedule()
        let delay = wait(patient.failed(at: .zero, retryAfter: .zero)) ?? .zero
        #expect(delay > .zero && delay < .milliseconds(500))
    }

    @Test func `an attempt that needs no wait has none, and is counted`() {
        var schedule = schedule { $0.maximumAttempts = 2 }
        #expect(schedule.failed(at: .zero, isImmediate: true) == .wait(.zero))
        #expect(schedule.failed(at: .zero, isImmediate: true) == .giveUp(.attempts(2)))
    }

    @Test func `no attempt starts after the deadline`() {
        var schedule = schedule { $0.deadline = .seconds(100) }
        #expect(schedule.remaining(at: .zero + .seconds(40)) == .seconds(60))
        #expect(schedule.remaining(at: .zero + .seconds(140)) == .zero)
        #expect(schedule.failed(at: .zero + .seconds(40), retryAfter: .seconds(59)) == .wait(.seconds(59)))
        #expect(
            schedule.failed(at: .zero + .seconds(40), retryAfter: .seconds(60)) == .giveUp(.deadline(.seconds(100)))
        )
        #expect(self.schedule().remaining(at: .zero) == nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("120", 120), ("Sun, 06 Nov 1994 08:49:37 GMT", 60), ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
            ("-1", nil), ("1.5", nil), ("soon", nil), ("", nil), (" 1", nil), ("99999999999999999999", Int64.max),
        ] as [(String, Int64?)]
    )
    func `Retry-After is seconds or a date`(value: String, seconds: Int64?) {
        #expect(RetryAfter.delay(value, now: 784_111_717) == seconds.map { .seconds($0) })
    }
}
