import FaultPlan
import FaultProfile
import Units

/// The result of `squall plan`, for drawing.
package struct PlanReport: Sendable {
    /// Phases are shown at least up to this time, even if the transfer ends earlier: 10 min.
    private static let maximumShown = Duration.seconds(600)

    package let profile: Profile
    package let seed: UInt64
    package let transfer: Transfer
    package let client: ClientModel
    package let forecast: TransferForecast
    package let timeline: NetworkTimeline
    /// The time range of the drawing, above zero.
    package let shown: Duration

    package init(profile: Profile, seed: UInt64, transfer: Transfer, client: ClientModel, forecast: TransferForecast) {
        self.profile = profile
        self.seed = seed
        self.transfer = transfer
        self.client = client
        self.forecast = forecast
        shown = PlanReport.shown(profile, until: forecast.duration)
        timeline = NetworkTimeline(of: profile, direction: transfer.direction, until: .zero + shown, seed: seed)
    }

    /// The time range of a drawing of what takes until `end`.
    static func shown(_ profile: Profile, until end: Duration) -> Duration {
        let phases = profile.phases.reduce(Duration.zero) { $0 + ($1.duration ?? .seconds(1)) }
        return max(.milliseconds(1), end, min(phases, maximumShown))
    }

    /// "complete after 11.5 s (46.3 Mbit/s)".
    package var verdict: String {
        let time = NearestText.time(forecast.duration)
        switch forecast.outcome {
        case .complete:
            guard forecast.duration >= .microseconds(1) else { return "complete at once" }
            return "complete after \(time) (\(rate))"
        case .givesUp: return "the client gives up after \(time), with \(held)"
        case .unfinished: return "not complete after \(time), with \(held)"
        case .tooManySteps:
            let steps = Formatting.grouped(Int64(TransferForecast.stepLimit))
            return "given up after \(steps) steps, at \(time) with \(held)"
        }
    }

    private var held: String { "\(NearestText.size(forecast.bytes)) of \(NearestText.size(transfer.bytes.bytes))" }

    /// The mean rate of the transfer.
    private var rate: String {
        NearestText.rate(bitsPerSecond: Double(forecast.bytes) * 8 / (Double(forecast.duration.nanoseconds) / 1e9))
    }

    /// "2, and 3 refused; 1 reset by an outage".
    package var connections: String {
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
    package var pauses: String {
        guard let longest = forecast.longestPause else { return "none of 0.5 s or more" }
        return "\(Formatting.grouped(Int64(forecast.pauses))) of 0.5 s or more, "
            + "\(NearestText.time(forecast.pausedTime)) in all; "
            + "the longest of \(NearestText.time(longest.duration)) at \(NearestText.time(longest.begin - .zero))"
    }

    private var faults: [Fault] { profile.faults + profile.phases.flatMap(\.faults) }

    /// Whether a fault depends on socket buffers, which a forecast doesn't model.
    private var hasLoss: Bool { faults.contains { if case .loss = $0.kind { true } else { false } } }

    /// The maximum deviation of a run from the prediction on an idle machine, in percent; `nil` if a run may differ by more,
    /// because the forecast lacks something of the client, the server or the bytes.
    package var tolerance: Int? { missing.isEmpty ? (hasLoss ? 10 : 3) : nil }

    /// What the forecast lacks: "no faults for hosts" if a fault asks for a host, which isn't known, and "no faults of TLS" if
    /// one is of TLS, which a predicted connection doesn't have.
    private var missing: [String] {
        let unknown = ConnectionFacts.Kind.allCases
            .filter { fact in !client.facts.has(fact) && faults.contains { $0.condition.asks(for: fact) } }
            .map { "no faults for \($0.rawValue)" }
        let others = [
            ("no faults of TLS", faults.contains { if case .tls = $0.kind { true } else { false } }),
            ("no connection limit", faults.contains { if case .connectionLimit = $0.kind { true } else { false } }),
            ("requests for “/” without header fields", faults.contains(where: \.asksForRequest)),
            ("no patterns in the bytes", faults.contains { $0.kind.pattern != nil }),
            ("no download that starts over for changed bytes", faults.contains(where: \.changesBytes)),
            ("no answer of a fault in place of the file", faults.contains(where: \.answersForServer)),
            ("no requests of an upload without content", transfer.direction == .upstream && forecast.connections > 1),
            ("waits between attempts that each run draws anew", forecast.waits > 0),
        ]
        return unknown + others.filter(\.1).map(\.0)
    }

    package var assumptions: String {
        let parts = ["no time for the machines and the real network"] + missing
        var text =
            "a client that resumes as squall get does, \(client.headBytes) bytes in front of the body of each answer, "
        if transfer.direction == .upstream, client.contentWait > .zero {
            text += "a server that names the upload's URL at once, "
        }
        text += parts.joined(separator: ", ")
        if let tolerance { text += "; within \(tolerance) %" + (hasLoss ? " where loss acts" : "") }
        return text
    }
}

extension Fault {
    /// Whether the fault goes by what only the client of a run knows of its request.
    fileprivate var asksForRequest: Bool {
        guard let messages = condition.http else { return false }
        return messages.path != nil || !messages.fields.isEmpty
    }

    /// Whether the fault changes bytes, so that their digest is wrong.
    fileprivate var changesBytes: Bool {
        switch kind {
        case .corrupt, .insert, .truncate: true
        default: false
        }
    }

    /// Whether the fault gives an answer that a client may take for that of the server, or follows elsewhere.
    fileprivate var answersForServer: Bool {
        guard case .http(.answer(let answer)) = kind else { return false }
        return answer.status < 400 || answer.status == 412 || answer.status == 416
    }
}
