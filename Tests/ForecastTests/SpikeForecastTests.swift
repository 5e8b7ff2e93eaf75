import FaultPlan
import FaultProfile
import Forecast
import SimulatedLink
import Testing
import Units

@Suite("A forecast of spikes behind a rate")
struct SpikeForecastTests {
    private func profile(_ keys: String) -> String {
        """
        { "name": "x", "faults": [
            { "kind": "bandwidth", "stream": "downstream", "rate": "20 Mbit/s" },
            { "kind": "latency", "stream": "downstream", "delay": "20 ms",
              "spikes": { "every": "2 s", "for": "400 ms", "extra": "250 ms" \(keys) } } ] }
        """
    }

    /// The most bytes within 10 ms.
    private func most(_ forecast: TransferForecast) -> Double {
        (0..<forecast.duration.nanoseconds / 2_000_000).map {
            forecast.progress.bytes(from: $0 * 2_000_000, to: $0 * 2_000_000 + 10_000_000)
        }.max() ?? 0
    }

    @Test(arguments: ["", #", "per": "proxy""#])
    func `has no 10 ms above its rate, and says so of one behind the bottleneck`(keys: String) throws {
        let steady = try forecast(profile(keys), bytes: 20_000_000)
        #expect(steady.outcome == .complete)
        #expect(most(steady) <= 27_500)
        let behind = try forecast(profile(keys + #", "behind": true"#), bytes: 20_000_000)
        #expect(most(behind) > 300_000)
    }

    /// A link that is asked at each of its wakes is what a run does.
    @Test
    func `comes to the time of a link that is asked at each of its wakes, for minutes`() throws {
        let bytes: Int64 = 400_000_000
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: profile("")))
        var admitter = Admitter(Plan(profile: profile, seed: 7, proxy: "proxy", start: .zero))
        var simulation = LinkSimulation(
            admitter.accept(at: .zero).downstream,
            arrivals: [.init(at: .zero, bytes: bytes + 100)]
        )
        simulation.run()
        let exact = Double(simulation.now.nanoseconds) / 1e9
        let seconds = Double(try forecast(self.profile(""), bytes: bytes).duration.nanoseconds) / 1e9
        #expect(abs(seconds - exact) < exact / 500, "\(seconds) for \(exact)")
    }
}
