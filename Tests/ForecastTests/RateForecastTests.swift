import FaultPlan
import FaultProfile
import Forecast
import SimulatedLink
import Testing
import Units

/// A forecast of two rates in a row takes as long as the lower one of each moment needs, and as a link that is asked in time.
@Suite("A forecast of two rates")
struct RateForecastTests {
    private static func fault(_ keys: String) -> String {
        "{ \"kind\": \"bandwidth\", \"stream\": \"downstream\", \(keys) }"
    }

    private static let steady = fault(#""name": "steady", "rate": "1.1 MB/s""#)
    private static let steps = fault(
        #""name": "steps", "rate": "3 MB/s", "repeat": "1 s", "steps": [ { "after": "500 ms", "rate": "500 KB/s" } ]"#
    )
    private static let sharedSteps = steps.replacing(
        "\"steps\", \"rate\"",
        with: "\"shared steps\", \"shared\": true, \"rate\""
    )
    private static let wave = fault(
        #""name": "wave", "wave": { "low": "400 KB/s", "high": "2400 KB/s", "period": "1700 ms" }"#
    )
    private static let sharedWave = wave.replacing(
        "\"wave\", \"wave\"",
        with: "\"shared wave\", \"per\": \"client\", \"wave\""
    )
    private static let reader =
        #"{ "kind": "slow-reader", "name": "reader", "stream": "downstream", "rate": "900 KB/s" }"#
    private static let loss = """
        { "kind": "loss", "name": "loss", "stream": "downstream", "rate": "0.2 %", "rtt": "20 ms", "link": "20 Mbit/s" }
        """
    private static let latency = #"{ "kind": "latency", "name": "late", "stream": "downstream", "delay": "40 ms" }"#

    private func seconds(_ faults: [String], bytes: Int64) throws -> Double {
        let forecast = try forecast(
            "{ \"name\": \"x\", \"faults\": [ \(faults.joined(separator: ", ")) ] }",
            bytes: bytes
        )
        #expect(forecast.outcome == .complete)
        return Double(forecast.duration.nanoseconds) / 1e9
    }

    /// Half of each second at 1.1 MB/s, and half at 0.5 MB/s.
    @Test(arguments: [[steady, steps], [steps, steady], [steady, sharedSteps], [sharedSteps, steady]])
    func `counts the lower rate of each moment`(faults: [String]) throws {
        let seconds = try seconds(faults, bytes: 4_000_000)
        #expect(abs(seconds - 5) < 0.05, "\(seconds)")
    }

    @Test
    func `loses nothing beside a faster rate, however long it takes`() throws {
        let fast = Self.fault(#""name": "fast", "rate": "10 MB/s""#)
        for faults in [[Self.steady, fast], [fast, Self.steady]] {
            let seconds = try seconds(faults, bytes: 1_100_000_000)
            #expect(abs(seconds - 1_000) < 1, "\(seconds)")
        }
    }

    private static let pairs: [[String]] = {
        let stages = [steady, steps, sharedSteps, wave, sharedWave, reader]
        let rates = stages.flatMap { first in stages.filter { $0 != first }.map { [first, $0] } }
        return rates + stages.map { [$0, loss] } + stages.map { [$0, latency] }
    }()

    /// A link that is asked at each of its wakes is what a run does.
    @Test(arguments: pairs)
    func `comes to the time of a link that is asked at each of its wakes`(faults: [String]) throws {
        let bytes: Int64 = 3_000_000
        let text = "{ \"name\": \"x\", \"faults\": [ \(faults.joined(separator: ", ")) ] }"
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        var admitter = Admitter(Plan(profile: profile, seed: 7, proxy: "proxy", start: .zero))
        var simulation = LinkSimulation(
            admitter.accept(at: .zero).downstream,
            arrivals: [.init(at: .zero, bytes: bytes + 100)]
        )
        simulation.run()
        let exact = Double(simulation.now.nanoseconds) / 1e9
        let seconds = try seconds(faults, bytes: bytes)
        // How a sender's rounds fall into a rate that changes depends on when it is asked.
        let allowed = faults.contains(Self.loss) ? 0.03 : 0.01
        #expect(abs(seconds - exact) <= allowed * exact, "\(seconds) s, not \(exact) s")
    }
}
