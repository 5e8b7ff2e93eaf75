import Testing
import TransferProtocol
import Units

struct RateLimiterTests {
    private static let start = Moment(nanoseconds: 5_000_000_000)

    /// The times in milliseconds at which chunks available at `arrivals` are admitted.
    private func moments(_ rate: BitRate, pieces: [Int], arrivals: [Int64] = []) -> [Int64] {
        var limiter = RateLimiter(rate: rate)
        var now = Self.start
        return pieces.enumerated().map { index, bytes in
            if index < arrivals.count { now = max(now, Self.start + .milliseconds(arrivals[index])) }
            now = now + limiter.admit(bytes, at: now)
            return (now - Self.start).nanoseconds / 1_000_000
        }
    }

    @Test func `pieces move when the rate has paid for them, the first one too`() {
        #expect(moments(.bytesPerSecond(10_000), pieces: [1_000, 1_000, 500]) == [100, 200, 250])
    }

    @Test func `a short wait is made up for, and of a long one the burst`() {
        let rate = BitRate.bytesPerSecond(100_000)
        let pieces = [1_000, 1_000, 1_000]
        #expect(moments(rate, pieces: pieces, arrivals: [0, 25, 25]) == [10, 25, 30])
        // After 10 s of idle time 64 KiB are saved up: only later bytes wait.
        #expect(moments(rate, pieces: [1_000, 65_536, 1_000], arrivals: [0, 10_000, 10_000]) == [10, 10_000, 10_010])
    }

    @Test(arguments: [(1_000, 65_536), (655_360, 65_536), (10_000_000, 1_000_000)] as [(Int64, Int64)])
    func `the burst is a tenth of a second, and at least 64 KiB`(rate: Int64, burst: Int64) {
        #expect(RateLimiter(rate: .bytesPerSecond(rate)).burst.bytes == burst)
    }

    @Test(arguments: [(1, 1_024), (100_000, 2_000), (1_000_000_000, 262_144)] as [(Int64, Int)])
    func `a piece is that of 20 ms, from 1 KiB to 256 KiB`(rate: Int64, length: Int) {
        #expect(RateLimiter(rate: .bytesPerSecond(rate)).chunkLength == length)
    }

    @Test func `no period exceeds the rate, the burst and a piece, and a busy sender gets the full rate`() {
        for seed in UInt64(0)..<40 {
            var random = SeededGenerator(seed: seed)
            let rate = BitRate(bitsPerSecond: Int64(1 + random.next() % 800_000_000))
            var limiter = RateLimiter(rate: rate)
            let piece = limiter.chunkLength
            let isBusy = seed % 2 == 0
            var now = Moment(nanoseconds: Int64(random.next() % 1_000_000_000))
            let start = now
            var urlChanged: [(moment: Moment, sum: Int64)] = [(now, 0)]
            for _ in 0..<100 {
                if !isBusy { now = now + .milliseconds(Int64(random.next() % 300)) }
                let bytes = 1 + Int(random.next() % UInt64(piece))
                now = now + limiter.admit(bytes, at: now)
                urlChanged.append((now, urlChanged[urlChanged.count - 1].sum + Int64(bytes)))
            }
            for (index, later) in urlChanged.enumerated() {
                for earlier in urlChanged[..<index] {
                    let most = rate.bytes(inNanoseconds: (later.moment - earlier.moment).nanoseconds)
                    #expect(later.sum - earlier.sum <= most + limiter.burst.bytes + Int64(piece), "seed \(seed)")
                }
                #expect(later.sum <= rate.bytes(inNanoseconds: (later.moment - start).nanoseconds), "seed \(seed)")
            }
            if isBusy {
                let most = rate.nanoseconds(forBytes: urlChanged[urlChanged.count - 1].sum) + 100
                #expect((now - start).nanoseconds <= most, "seed \(seed)")
            }
        }
    }

    @Test func `extremes end nowhere`() {
        var slow = RateLimiter(rate: BitRate(bitsPerSecond: 0))
        #expect(slow.admit(1, at: .zero) == .seconds(8))
        _ = slow.admit(.max, at: .zero)
        #expect(slow.admit(.max, at: .distantFuture) == .zero)
        var fast = RateLimiter(rate: BitRate(bitsPerSecond: .max))
        #expect(fast.admit(1, at: .zero) == .nanoseconds(1))
        #expect(fast.admit(0, at: .zero) == .nanoseconds(1))
    }
}
