import FaultPlan
import FaultProfile
import Forecast
import Testing
import Units

@Suite("An hour")
struct HourTests {
    /// Nothing stops this client.
    private struct Tireless: RetryModel {
        func reached(_ offset: Int64) {}
        func failed(at now: Moment, isImmediate: Bool, answer: HTTPAnswer?) -> Duration? { .milliseconds(250) }
    }

    /// The steps are the same on every machine and 16 million take a second or two; `make acceptance` measures the time, and
    /// tries the presets too.
    @Test(arguments: Shipped.names)
    func `of a shipped profile is simulated within the steps of a forecast`(name: String) throws {
        let plan = Plan(profile: try Shipped.profile(name), seed: 7, proxy: "proxy", start: .zero)
        // What 1 Gbit/s carries in an hour: more than any profile with a rate lets pass.
        let transfer = Transfer(direction: .downstream, bytes: ByteCount(450_000_000_000))
        let forecast = TransferForecast(
            of: transfer,
            through: plan,
            retries: Tireless(),
            limit: .seconds(3_600)
        )
        #expect(forecast.outcome == .complete || forecast.duration == .seconds(3_600))
    }
}
