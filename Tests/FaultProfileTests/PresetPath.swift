import Units

@testable import FaultProfile

/// What the faults of a preset do to one direction.
struct PresetPath: Equatable {
    var bandwidth: Bandwidth?
    var latency: Latency?
    var loss: Loss?
    /// Everything else, and what is there twice.
    var others: [FaultKind] = []

    init() {}

    init(_ faults: [Fault], _ stream: StreamSelection) {
        for fault in faults where fault.stream == .both || fault.stream == stream {
            switch fault.kind {
            case .bandwidth(let bandwidth) where self.bandwidth == nil: self.bandwidth = bandwidth
            case .latency(let latency) where self.latency == nil: self.latency = latency
            case .loss(let loss) where self.loss == nil: self.loss = loss
            case let other: others.append(other)
            }
        }
    }

    /// A rate that all connections share.
    mutating func limit(toBitsPerSecond rate: Double) {
        bandwidth = Bandwidth(rate: BitRate(bitsPerSecond: Int64(rate.rounded())), scope: .proxy)
    }

    /// A delay and its jitter in milliseconds; none is no fault.
    mutating func delay(by milliseconds: Double, jitter: Double = 0, _ distribution: Latency.Distribution = .uniform) {
        guard milliseconds > 0 || jitter > 0 else { return }
        latency = Latency(
            delay: PresetPath.duration(milliseconds),
            jitter: PresetPath.duration(jitter),
            distribution: distribution
        )
    }

    /// A loss in %; none is no fault.
    mutating func lose(percent: Double, burst: Int = 1, roundTrip milliseconds: Double) {
        guard percent > 0, let rate = Probability(percent / 100) else { return }
        loss = Loss(rate: rate, burst: burst, roundTrip: PresetPath.duration(milliseconds))
    }

    private static func duration(_ milliseconds: Double) -> Duration {
        .nanoseconds(Int64((milliseconds * 1e6).rounded()))
    }
}

/// A preset as the program reads it.
func preset(_ name: String) throws -> Profile {
    guard let source = try Repository.preset(name) else {
        throw ResolutionError(what: "there is no preset \(name)", remedy: "name another")
    }
    return try ProfileReader.profile(from: source, resolving: presetFiles)
}

/// What presets refer to: other presets, and traces.
func presetFiles(_ reference: ProfileReference) -> Result<ProfileSource, ResolutionError> {
    switch reference {
    case .shipped(let base):
        if let source = try? Repository.preset(base) { return .success(source) }
    case .trace(let path):
        if let bytes = try? Repository.bytes(of: path) { return .success(ProfileSource(file: path, bytes: bytes)) }
    case .path, .certificate:
        break
    }
    return .failure(ResolutionError(what: "there is no such preset", remedy: "extend another"))
}
