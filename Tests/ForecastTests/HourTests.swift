import FaultPlan
import FaultProfile
import Forecast
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

    /// The scenarios; the presets, which are many and simple, are left to `make acceptance`.
    @Test(arguments: Shipped.names.filter { !$0.contains("/") })
    func `of a shipped profile is simulated in time`(name: String) throws {
        let profile = try Shipped.profile(name)
        let plan = Plan(profile: profile, seed: 7, proxy: "proxy", start: .zero)
        // What 1 Gbit/s carries in an hour: more than any profile with a rate lets pass.
        let transfer = Transfer(direction: .downstream, bytes: ByteCount(450_000_000_000))
        let start = HourTests.processorTime()
        let forecast = TransferForecast(of: transfer, through: plan, retries: Tireless(), limit: .seconds(3_600))
        let spent = HourTests.processorTime() - start
        #expect(forecast.outcome == .complete || forecast.duration == .seconds(3_600))
        #expect(spent < HourTests.limit, "\(spent)")
    }
}
