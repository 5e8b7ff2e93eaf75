import FaultProfile
import Units

/// What a fault means for a drawing: figures where it has some, and a short line.
struct FaultSummary {
    var rate: BitRate?
    var delay = Duration.zero
    var jitter = Duration.zero
    var outage: Outage.Manner?
    /// Whether it acts at a byte and not over a stretch of time.
    var isAtPosition = false
    /// "cut at 64 KiB".
    let text: String

    init(_ kind: FaultKind) {
        switch kind {
        case .latency(let latency):
            delay = latency.delay
            jitter = latency.jitter
            text = "latency \(latency.delay.text)" + (latency.jitter > .zero ? " ± \(latency.jitter.text)" : "")
        case .bandwidth(let bandwidth):
            rate = bandwidth.rate
            text = "bandwidth \(bandwidth.rate.text)"
        case .cut(let cut):
            isAtPosition = true
            text = "cut \(cut.position.sentence)"
        case .stall(let stall):
            isAtPosition = true
            text = "stall of \(stall.duration.text) at \(stall.at.text)"
        case .outage(let outage):
            self.outage = outage.how
            text = "outage by \(outage.how.rawValue)"
        }
    }
}

extension Cut.Position {
    /// "at 64 KiB".
    fileprivate var sentence: String {
        switch self {
        case .at(let offset): "at \(offset.text)"
        case .inTurn(let offsets): "at \(offsets.count) offsets, a connection each"
        case .every(let step): "at every \(step.text)"
        case .between(let low, let high): "between \(low.text) and \(high.text)"
        }
    }
}

extension Condition {
    /// "connections 1 to 2, with a chance of 50 %, from an age of 5 s".
    var sentence: String {
        var parts: [String] = []
        switch connections {
        case .all: break
        case .range(let range) where range.lowerBound == range.upperBound:
            parts.append("connection \(range.lowerBound)")
        case .range(let range):
            let isOpen = range.upperBound == .max
            parts.append("connections from \(range.lowerBound)" + (isOpen ? " on" : " to \(range.upperBound)"))
        case .every(let step): parts.append("every connection of \(step)")
        }
        if chance < .always { parts.append("with a chance of \(chance.text)") }
        if ageFrom > .zero { parts.append("from an age of \(ageFrom.text)") }
        if let ageUntil { parts.append("up to an age of \(ageUntil.text)") }
        return parts.joined(separator: ", ")
    }
}
