import FaultProfile
import Units

/// What a fault means for a drawing: figures where it has some, and a short line.
struct FaultSummary {
    var rate: BitRate?
    var delay = Duration.zero
    var jitter = Duration.zero
    var outage: Outage.Manner?
    /// Whether it acts at one point of a connection and not on all that passes over a stretch of time.
    var isAtPosition = false
    /// "cut at 64 KiB".
    let text: String

    /// Whether it has a figure: a rate, a delay, or an outage.
    var hasFigures: Bool { rate != nil || delay > .zero || jitter > .zero || outage != nil }

    init(_ kind: FaultKind) {
        switch kind {
        case .latency(let latency):
            delay = latency.delay
            jitter = latency.jitter
            text = "latency \(latency.delay.text)" + (latency.jitter > .zero ? " ± \(latency.jitter.text)" : "")
        case .bandwidth(let bandwidth):
            rate = bandwidth.meanRate
            text = "bandwidth \(bandwidth.sentence)"
        case .cut(let cut):
            isAtPosition = true
            text = "cut \(cut.position.sentence)\(cut.origin.sentence)" + (cut.how == .silence ? ", in silence" : "")
        case .stall(let stall):
            isAtPosition = true
            text = "stall of \(stall.duration.text) at \(stall.at.text)\(stall.origin.sentence)"
        case .outage(let outage):
            self.outage = outage.how
            text = "outage by \(outage.how.rawValue)"
        case .loss(let loss):
            let bursts = loss.burst > 1 ? " in bursts of \(loss.burst)" : ""
            text = "loss \(loss.rate.text)\(bursts), round trip \(loss.roundTrip.text), \(loss.sender.rawValue)"
        case .corrupt(let corrupt):
            isAtPosition = true
            text = "corrupt \(corrupt.position.sentence)\(corrupt.origin.sentence)"
        case .truncate(let truncate):
            isAtPosition = true
            text = "truncate \(truncate.bytes.text) at \(truncate.at.text)\(truncate.origin.sentence)"
        case .http(.answer(let answer)):
            isAtPosition = true
            text = "http answer \(answer.status)"
        case .http(.drop(let codes)):
            isAtPosition = true
            text = "http drop of \(codes.text)"
        case .trace(let trace):
            rate = trace.meanRate
            text = "trace \(trace.file), queue \(trace.queue.text)"
        case .slice(let slice):
            text = "slice \(slice.size.text)" + (slice.pause > .zero ? ", pause \(slice.pause.text)" : "")
        case .slowReader(let reader):
            rate = reader.rate
            text = "slow-reader \(reader.rate.text)"
        case .connect(let connect):
            isAtPosition = true
            text = "connect \(connect.how.sentence)"
        case .connectionLimit(let limit):
            isAtPosition = true
            text = "connection-limit of \(limit.limit), \(limit.how.rawValue)"
        case .slowClose(let close):
            isAtPosition = true
            text = "slow-close by \(close.delay.text)"
        case .halfOpen(let halfOpen):
            isAtPosition = true
            text = "half-open \(halfOpen.point.sentence)"
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
        case .after(let age): "at an age of \(age.text)"
        case .idle(let time): "when idle for \(time.text)"
        case .pattern(let pattern): "behind \(pattern.text)"
        }
    }
}

extension Origin {
    /// " of the body".
    fileprivate var sentence: String { self == .connection ? "" : " of the \(rawValue)" }
}

extension HTTPCondition {
    /// "GET /files/* answered 206, request 2".
    fileprivate var sentence: String {
        var words = [method ?? "requests", path?.text].compactMap { $0 }
        words += fields.map { "with \($0.name): \($0.value.text)" }
        if let status { words.append("answered \(status.text)") }
        var parts = [words.joined(separator: " ")]
        switch requests {
        case .all: break
        case .range(let range) where range.lowerBound == range.upperBound: parts.append("request \(range.lowerBound)")
        case .range(let range):
            let isOpen = range.upperBound == .max
            parts.append("requests from \(range.lowerBound)" + (isOpen ? " on" : " to \(range.upperBound)"))
        case .every(let step): parts.append("every request of \(step)")
        }
        if chance < .always { parts.append("each with a chance of \(chance.text)") }
        return parts.joined(separator: ", ")
    }
}

extension Connect.Manner {
    /// "delay of 2 s".
    fileprivate var sentence: String {
        switch self {
        case .delay(let time, let jitter):
            "delay of \(time.text)" + (jitter > .zero ? " ± \(jitter.text)" : "")
        case .hang: "hang"
        case .refuse: "refuse"
        case .close: "close"
        }
    }
}

extension HalfOpen.Point {
    /// "at 64 KiB".
    fileprivate var sentence: String {
        switch self {
        case .at(let offset): "at \(offset.text)"
        case .after(let age): "at an age of \(age.text)"
        }
    }
}

extension Corrupt.Position {
    /// "at 64 KiB".
    fileprivate var sentence: String {
        switch self {
        case .at(let offset): "at \(offset.text)"
        case .between(let low, let high): "between \(low.text) and \(high.text)"
        case .rate(let rate): "\(rate.text) of the bytes"
        }
    }
}

extension Bandwidth {
    /// The rate in the long run, for a drawing.
    fileprivate var meanRate: BitRate {
        guard case .wave(let high, _) = course else { return rate }
        return BitRate(bitsPerSecond: rate.bitsPerSecond + (high.bitsPerSecond - rate.bitsPerSecond) / 2)
    }

    /// "1 Mbit/s to 8 Mbit/s".
    fileprivate var sentence: String {
        switch course {
        case .steady: rate.text
        case .steps(let steps, _): "\(rate.text), then \(steps.map(\.rate.text).joined(separator: ", "))"
        case .wave(let high, let period): "\(rate.text) to \(high.text) within \(period.text)"
        }
    }
}

extension Trace {
    /// The rate in the long run, for a drawing.
    fileprivate var meanRate: BitRate {
        let bits = Int64(opportunities.count) * Trace.opportunitySize.bytes * 8
        return BitRate(bitsPerSecond: max(1, bits * 1_000 / Int64(max(1, opportunities.last ?? 1))))
    }
}

extension Condition {
    /// "connections from 1 to 2, with a chance of 50 %, from an age of 5 s".
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
        if !clients.isEmpty { parts.append("for \(clients.map(\.text).joined(separator: " and "))") }
        if let clock, clock.from > .zero || clock.until == nil { parts.append("from \(clock.from.text) on") }
        if let until = clock?.until { parts.append("until \(until.text)") }
        if let duty { parts.append("\(duty.on.text) on and \(duty.off.text) off") }
        if let after { parts.append("after \(after)") }
        if let http { parts.append(http.sentence) }
        return parts.joined(separator: ", ")
    }
}
