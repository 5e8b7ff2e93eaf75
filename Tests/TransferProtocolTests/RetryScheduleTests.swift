import Testing
import TransferProtocol
import Units

@Suite struct RetryScheduleTests {
    private func schedule(seed: UInt64 = 1, _ change: (inout RetryPolicy) -> Void = { _ in }) -> RetrySchedule {
        var policy = RetryPolicy()
        change(&policy)
        return RetrySchedule(policy: policy, generator: SeededGenerator(seed: seed), startedAt: .zero)
    }

    private func wait(_ decision: RetryDecision) -> Duration? { pause(decision)?.delay }

    private func pause(_ decision: RetryDecision) -> (delay: Duration, rule: RetryRule)? {
        switch decision {
        case .wait(let delay, let rule): (delay, rule)
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

    @Test func `one new byte starts the count and the waits again`() {
        var schedule = schedule()
        for round in 1...50 {
            for _ in 0..<9 { #expect(wait(schedule.failed(at: .zero + .seconds(round))) != nil) }
            schedule.reached(Int64(round))
            #expect(schedule.failed(at: .zero + .seconds(round)) == .wait(.zero, .progress(1)))
        }
        // Bytes up to the highest offset don't count as new.
        schedule.reached(0)
        schedule.reached(50)
        for _ in 0..<9 { #expect(wait(schedule.failed(at: .zero + .seconds(51))) != nil) }
        #expect(schedule.failed(at: .zero + .seconds(51)) == .giveUp(.attempts(10)))
    }

    @Test func `the bytes after a restart are new, wherever they lie`() {
        var schedule = schedule()
        schedule.reached(5 << 20)
        #expect(schedule.failed(at: .zero) == .wait(.zero, .progress(5 << 20)))
        schedule.restarted()
        for part in 1...80 as ClosedRange<Int64> {
            schedule.reached(part << 16)
            #expect(schedule.failed(at: .zero) == .wait(.zero, .progress(1 << 16)))
        }
    }

    @Test func `throwing bytes away again and again waits longer and longer`() throws {
        var longest = [Duration](repeating: .zero, count: 8)
        for seed in 0..<200 {
            var schedule = schedule(seed: UInt64(seed))
            for times in 0..<8 {
                schedule.reached(1_000)
                let (delay, rule) = try #require(pause(schedule.failed(at: .zero, startsOver: true)))
                #expect(rule == .repeatedRestart(times: times + 1))
                longest[times] = max(longest[times], delay)
                schedule.restarted()
            }
        }
        for (times, span) in [0.5, 1, 2, 4, 8, 16, 30, 30].enumerated() {
            #expect(longest[times] < .seconds(span) && longest[times] > .seconds(span * 0.9))
        }
    }

    /// The virtual time and number of requests for a file of `size` bytes at 1 ms and `part` new bytes per attempt.
    private func transfer(_ size: Int64, part: Int64) -> (time: Duration, requests: Int, rules: Set<String>)? {
        var schedule = schedule()
        var now = Moment.zero
        var rules: Set<String> = []
        for request in 1... {
            now = now + .milliseconds(1)
            let offset = min(size, Int64(request) * part)
            schedule.reached(offset)
            if offset == size { return (now - .zero, request, rules) }
            guard case .wait(let delay, let rule) = schedule.failed(at: now) else { return nil }
            switch rule {
            case .progress: rules.insert("progress")
            case .rateLimit: rules.insert("pace")
            default: rules.insert("other")
            }
            now = now + delay
        }
        return nil
    }

    @Test(arguments: [1 << 10, 16 << 10, 64 << 10, 256 << 10] as [Int64])
    func `attempts that bring 1 KiB each follow each other at once`(part: Int64) throws {
        let (time, requests, rules) = try #require(transfer(5 << 20, part: part))
        #expect(requests == Int((5 << 20) / part))
        #expect(time == .milliseconds(requests))
        #expect(rules == (requests > 1 ? ["progress"] : []))
    }

    @Test func `attempts that bring one byte each are limited to 20 a second after the first 100`() throws {
        let (time, requests, rules) = try #require(transfer(1_000, part: 1))
        #expect(requests == 1_000)
        #expect(rules == ["progress", "pace"])
        // 900 requests at 50 ms, less the credit of the bytes and the first tenth of a second.
        #expect(time > .seconds(43) && time < .seconds(45))
    }

    @Test func `time that passes pays for 100 requests at most`() throws {
        var schedule = schedule()
        var now = Moment.zero + .seconds(3_600)
        for offset in 1...100 as ClosedRange<Int64> {
            schedule.reached(offset)
            #expect(schedule.failed(at: now) == .wait(.zero, .progress(1)))
        }
        schedule.reached(101)
        let (delay, rule) = try #require(pause(schedule.failed(at: now)))
        #expect(rule == .rateLimit(requestsPerSecond: 20))
        #expect(delay > .milliseconds(40) && delay <= .milliseconds(50))
        now = now + delay
        schedule.reached(.max)
        #expect(schedule.failed(at: now) == .wait(.zero, .progress(.max - 101)))
    }

    /// A peer with a scripted sequence of cuts, refusals and new file versions. Every download ends; it succeeds unless
    /// ten refusals come in a row.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `a download through a scripted peer ends`(seed: UInt64) throws {
        var peer = SeededGenerator(seed: seed)
        var schedule = schedule(seed: seed)
        let size: Int64 = 1 << 20
        let cut = [16, 64, 256][Int(seed % 3)] << 10 as Int64
        var (now, offset, refusals, restarts) = (Moment.zero, Int64(0), 0, 0)
        var (requests, busy) = (0, Duration.zero)
        while offset < size {
            requests += 1
            now = now + .milliseconds(2)
            let draw = peer.nextFraction()
            let wasRefused = draw < 0.2 && refusals < 8
            refusals = wasRefused ? refusals + 1 : 0
            if !wasRefused {
                if draw > 0.99, restarts < 10 {
                    restarts += 1
                    schedule.restarted()
                    offset = 0
                }
                offset = min(size, offset + cut - 300)
                schedule.reached(offset)
            }
            guard offset < size else { break }
            let (delay, rule) = try #require(
                pause(schedule.failed(at: now)),
                "gave up at \(offset) after \(requests) requests"
            )
            if case .progress = rule { #expect(delay == .zero) }
            busy += delay
            now = now + delay
        }
        #expect(requests <= 11 * Int(size / (cut - 300) + 1) * 2 + 100)
        // The maximum backoff is half a minute, and most draws are far below.
        #expect(busy < .seconds(30) * requests)
    }

    @Test func `Retry-After is a lower bound, and has a bound itself`() {
        var schedule = schedule()
        #expect(schedule.failed(at: .zero, retryAfter: .seconds(600)) == .wait(.seconds(600), .retryAfter))
        #expect(schedule.failed(at: .zero, retryAfter: .seconds(601)) == .giveUp(.retryAfter(.seconds(601))))
        var patient = self.schedule()
        let delay = wait(patient.failed(at: .zero, retryAfter: .zero)) ?? .zero
        #expect(delay > .zero && delay < .milliseconds(500))
    }

    @Test func `an attempt that needs no wait has none, and is counted`() {
        var schedule = schedule { $0.maximumAttempts = 2 }
        #expect(schedule.failed(at: .zero, isImmediate: true) == .wait(.zero, .differentRequest))
        #expect(schedule.failed(at: .zero, isImmediate: true) == .giveUp(.attempts(2)))
    }

    @Test func `no attempt starts after the deadline`() {
        var schedule = schedule { $0.deadline = .seconds(100) }
        #expect(schedule.remaining(at: .zero + .seconds(40)) == .seconds(60))
        #expect(schedule.remaining(at: .zero + .seconds(140)) == .zero)
        #expect(schedule.failed(at: .zero + .seconds(40), retryAfter: .seconds(59)) == .wait(.seconds(59), .retryAfter))
        #expect(
            schedule.failed(at: .zero + .seconds(40), retryAfter: .seconds(60)) == .giveUp(.deadline(.seconds(100)))
        )
        #expect(self.schedule().remaining(at: .zero) == nil)
    }
}
