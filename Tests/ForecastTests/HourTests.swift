import FaultPlan
import FaultProfile
import Forecast
import Foundation
import Glibc
import Testing
import Units

@Suite("An hour", .serialized)
struct HourTests {
    /// Nothing stops this client.
    private struct Tireless: RetryModel {
        func reached(_ offset: Int64) {}
        func failed(at now: Moment) -> Duration? { .milliseconds(250) }
    }

    /// What this thread has spent: other work on the machine doesn't count.
    private static func processorTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// A second for the program as people run it; three for one that is built without optimization.
    private static let limit: Duration = {
        #if DEBUG
            .seconds(3)
        #else
            .seconds(1)
        #endif
    }()

    /// What an hour of a profile costs, in processor time: the best of three if one is above the limit, because what
    /// shares a core with others needs longer for the same work.
    private static func cost(of profile: Profile) -> (time: Duration, isWhole: Bool) {
        let plan = Plan(profile: profile, seed: 7, proxy: "proxy", start: .zero)
        // What 1 Gbit/s carries in an hour: more than any profile with a rate lets pass.
        let transfer = Transfer(direction: .downstream, bytes: ByteCount(450_000_000_000))
        var best = Duration.seconds(100)
        var isWhole = false
        for _ in 0..<3 where best >= limit {
            let start = processorTime()
            let forecast = TransferForecast(of: transfer, through: plan, retries: Tireless(), limit: .seconds(3_600))
            best = min(best, processorTime() - start)
            isWhole = forecast.outcome == .complete || forecast.duration == .seconds(3_600)
        }
        return (best, isWhole)
    }

    /// The scenarios; the presets, which are many and simple, are left to `make acceptance`.
    @Test(arguments: Shipped.names.filter { !$0.contains("/") })
    func `of a shipped profile is simulated in time`(name: String) async throws {
        let profile = try Shipped.profile(name)
        // On a thread of its own: the other tests have two or three between them, and wait for each other.
        let cost = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: HourTests.cost(of: profile)) }
        }
        #expect(cost.isWhole)
        #expect(cost.time < HourTests.limit, "\(cost.time)")
    }
}
