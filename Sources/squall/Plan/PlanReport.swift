import FaultPlan
import FaultProfile
import Forecast
import Units

/// The result of `squall plan`, for drawing.
struct PlanReport {
    /// Phases are shown at least up to this time, even if the transfer ends earlier: 10 min.
    private static let maximumShown = Duration.seconds(600)

    let profile: Profile
    let seed: UInt64
    let transfer: Transfer
    let client: ClientModel
    let forecast: TransferForecast
    let timeline: NetworkTimeline
    /// The time range of the drawing, above zero.
    let shown: Duration

    init(profile: Profile, seed: UInt64, transfer: Transfer, client: ClientModel, forecast: TransferForecast) {
        self.profile = profile
        self.seed = seed
        self.transfer = transfer
        self.client = client
        self.forecast = forecast
        let phases = profile.phases.reduce(Duration.zero) { $0 + ($1.duration ?? .seconds(1)) }
        shown = max(.milliseconds(1), forecast.duration, min(phases, PlanReport.maximumShown))
        timeline = NetworkTimeline(of: profile, direction: transfer.direction, until: .zero + shown, seed: seed)
    }

    /// "complete after 11.5 s (46.3 Mbit/s)".
    var verdict: String {
        let time = PlanReport.seconds(forecast.duration)
        switch forecast.outcome {
        case .complete:
            guard forecast.duration > .zero else { return "complete at once" }
            return "complete after \(time) (\(Formatting.rate(bytes: forecast.bytes, in: forecast.duration)))"
        case .givesUp: return "the client gives up after \(time), with \(held)"
        case .unfinished: return "not complete after \(time), with \(held)"
        case .tooManySteps:
            let steps = Formatting.grouped(Int64(TransferForecast.stepLimit))
            return "given up after \(steps) steps, at \(time) with \(held)"
        }
    }

    private var held: String { "\(Formatting.size(forecast.bytes)) of \(Formatting.size(transfer.bytes.bytes))" }

    /// "2, and 3 refused; 1 reset by an outage".
    var connections: String {
        var text = Formatting.grouped(Int64(forecast.connections))
        if forecast.refusals > 0 { text += ", and \(Formatting.grouped(Int64(forecast.refusals))) refused" }
        let losses = [
            (forecast.cuts, "cut"), (forecast.resets, "reset by an outage"),
            (forecast.timeouts, "given up as too slow"),
        ]
        let lost = losses.filter { $0.0 > 0 }.map { "\(Formatting.grouped(Int64($0.0))) \($0.1)" }
        return lost.isEmpty ? text : "\(text); \(lost.joined(separator: ", "))"
    }

    /// "1, 2.1 s in all; the longest of 2.1 s at 5.0 s".
    var pauses: String {
        guard let longest = forecast.longestPause else { return "none of 0.5 s or more" }
        return "\(Formatting.grouped(Int64(forecast.pauses))) of 0.5 s or more, "
            + "\(PlanReport.seconds(forecast.pausedTime)) in all; "
            + "the longest of \(PlanReport.seconds(longest.duration)) at \(PlanReport.seconds(longest.begin - .zero))"
    }

    /// "what comes after 12.5 s isn't drawn: the profile changes too often"; `nil` if all of it is drawn.
    var omission: String? {
        guard let end = timeline.cutAt else { return nil }
        return "what comes after \(PlanReport.seconds(end - .zero)) isn't drawn: the profile changes too often"
    }

    /// Whether a fault depends on socket buffers, which a forecast doesn't model.
    private var hasLoss: Bool {
        (profile.faults + profile.phases.flatMap(\.faults)).contains { if case .loss = $0.kind { true } else { false } }
    }

    /// The maximum deviation of a run from the prediction on an idle machine, in percent.
    var tolerance: Int { hasLoss ? 10 : 3 }

    /// The assumptions of the prediction.
    var assumptions: String {
        let accuracy = hasLoss ? "; within 10 % where loss acts" : "; within 3 %"
        return
            "a client that resumes as squall get does, \(client.headBytes) bytes in front of the body of each answer, "
            + "no time for the machines and the real network\(accuracy)"
    }

    /// "80 Mbit/s, 4 ms ± 2 ms", "outage by refuse", "no fault".
    static func sentence(_ conditions: NetworkConditions) -> String {
        var parts: [String] = []
        if let outage = conditions.outage { parts.append("outage by \(outage.rawValue)") }
        if let rate = conditions.rate { parts.append(rate.text) }
        if conditions.delay > .zero || conditions.jitter > .zero {
            parts.append(conditions.delay.text + (conditions.jitter > .zero ? " ± \(conditions.jitter.text)" : ""))
        }
        parts += conditions.others
        return parts.isEmpty ? "no fault" : parts.joined(separator: "; ")
    }

    /// "11.5 s", without alignment spaces.
    static func seconds(_ duration: Duration) -> String {
        String(Formatting.seconds(duration).trimmingPrefix { $0 == " " })
    }
}

/// A prediction as a line of JSON.
struct PlanPrediction: Encodable {
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
    var withinPercent: Int

    init(_ report: PlanReport) {
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
