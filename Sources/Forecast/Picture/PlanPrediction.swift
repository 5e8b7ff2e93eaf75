import Units

/// A prediction as a line of JSON.
package struct PlanPrediction: Encodable {
    var event = "predicted"
    var bytes: Int64
    var connections: Int
    var cuts: Int
    var outcome: String
    var pausedSeconds: Double
    var pauses: Int
    var refusals: Int
    var resets: Int
    var seconds: Double
    var seed: UInt64
    var timeouts: Int
    var withinPercent: Int?

    package init(_ report: PlanReport) {
        let forecast = report.forecast
        bytes = forecast.bytes
        connections = forecast.connections
        cuts = forecast.cuts
        outcome = "\(forecast.outcome)"
        pausedSeconds = Double(forecast.pausedTime.nanoseconds / 1_000) / 1e6
        pauses = forecast.pauses
        refusals = forecast.refusals
        resets = forecast.resets
        seconds = Double(forecast.duration.nanoseconds / 1_000) / 1e6
        seed = report.seed
        timeouts = forecast.timeouts
        withinPercent = report.tolerance
    }
}
