import Units

extension FaultKind {
    /// The keys of this kind with their values, as a profile has them.
    var writtenMembers: [(key: String, value: JSONText)] {
        switch self {
        case .latency(let latency): latency.writtenMembers
        case .bandwidth(let bandwidth): bandwidth.writtenMembers
        case .cut(let cut): cut.position.writtenMembers + [("how", .text(cut.how.rawValue))] + cut.origin.writtenMembers
        case .stall(let stall):
            [("at", .text(stall.at.text)), ("for", .text(stall.duration.text))] + stall.origin.writtenMembers
        case .outage(let outage): outage.writtenMembers
        case .loss(let loss): loss.writtenMembers
        case .corrupt(let corrupt):
            corrupt.position.writtenMembers + corrupt.origin.writtenMembers
                + (corrupt.bit.map { [("bit", .number(UInt64($0)))] } ?? [])
        case .truncate(let truncate):
            [("at", .text(truncate.at.text)), ("bytes", .text(truncate.bytes.text))] + truncate.origin.writtenMembers
        case .trace(let trace): [("file", .text(trace.file)), ("queue", .text(trace.queue.text))]
        case .slice(let slice): slice.writtenMembers
        case .http(let fault): fault.writtenMembers
        case .connect(let connect): connect.writtenMembers
        case .connectionLimit(let limit):
            [("limit", .number(UInt64(limit.limit))), ("how", .text(limit.how.rawValue))]
        case .slowClose(let close): [("by", .text(close.delay.text))]
        case .halfOpen(let halfOpen): halfOpen.point.writtenMembers
        case .slowReader(let reader):
            [("rate", .text(reader.rate.text))] + (reader.window.map { [("window", .text($0.text))] } ?? [])
        }
    }
}

extension Latency {
    fileprivate var writtenMembers: [(key: String, value: JSONText)] {
        var members: [(key: String, value: JSONText)] = []
        if case .quantiles(let table) = distribution {
            members.append(("quantiles", .array(table.map { .text($0.text) })))
            if delay > .zero { members.append(("delay", .text(delay.text))) }
        } else {
            members.append(("delay", .text(delay.text)))
            if jitter > .zero { members.append(("jitter", .text(jitter.text))) }
            if distribution != .uniform, let word = Word.allCases.first(where: { $0.distribution == distribution }) {
                members.append(("distribution", .text(word.rawValue)))
            }
        }
        if correlation > .never { members.append(("correlation", .text(correlation.text))) }
        if minimum > .zero { members.append(("minimum", .text(minimum.text))) }
        if let spikes {
            let times = [("every", spikes.every), ("for", spikes.duration), ("extra", spikes.extra)]
            members.append(("spikes", .object(times.map { (key: $0.0, value: .text($0.1.text)) })))
        }
        return members
    }
}

extension Bandwidth {
    fileprivate var writtenMembers: [(key: String, value: JSONText)] {
        var members: [(key: String, value: JSONText)] = []
        switch course {
        case .steady:
            members.append(("rate", .text(rate.text)))
        case .steps(let steps, let repeats):
            members.append(("rate", .text(rate.text)))
            let list = steps.map { step -> JSONText in
                .object([("after", .text(step.after.text)), ("rate", .text(step.rate.text))])
            }
            members.append(("steps", .array(list)))
            if let repeats { members.append(("repeat", .text(repeats.text))) }
        case .wave(let high, let period):
            members.append(
                (
                    "wave",
                    .object([
                        ("low", .text(rate.text)), ("high", .text(high.text)), ("period", .text(period.text)),
                    ])
                )
            )
        }
        if burst > .zero { members.append(("burst", .text(burst.text))) }
        if scope != .connection { members.append(("per", .text(scope.rawValue))) }
        return members
    }
}

extension Outage {
    fileprivate var writtenMembers: [(key: String, value: JSONText)] {
        var members: [(key: String, value: JSONText)] = [("how", .text(how.rawValue))]
        if case .tcpBackoff(let roundTrip) = recovery {
            members.append(("recovery", .text("tcp-backoff")))
            if let roundTrip { members.append(("rtt", .text(roundTrip.text))) }
        }
        return members
    }
}

extension Connect {
    fileprivate var writtenMembers: [(key: String, value: JSONText)] {
        switch how {
        case .delay(let time, let jitter):
            [("how", .text("delay")), ("for", .text(time.text))]
                + (jitter > .zero ? [("jitter", .text(jitter.text))] : [])
        case .hang: [("how", .text("hang"))]
        case .refuse: [("how", .text("refuse"))]
        case .close: [("how", .text("close"))]
        }
    }
}

extension HalfOpen.Point {
    fileprivate var writtenMembers: [(key: String, value: JSONText)] {
        switch self {
        case .at(let offset): [("at", .text(offset.text))]
        case .after(let age): [("after", .text(age.text))]
        }
    }
}

extension Loss {
    fileprivate var writtenMembers: [(key: String, value: JSONText)] {
        var members: [(key: String, value: JSONText)] = [("rate", .text(rate.text))]
        if burst != 1 { members.append(("burst", .number(UInt64(burst)))) }
        members.append(("rtt", .text(roundTrip.text)))
        if sender != .cubic { members.append(("sender", .text(sender.rawValue))) }
        if link != Loss.defaultLink { members.append(("link", .text(link.text))) }
        return members
    }
}

extension Slice {
    fileprivate var writtenMembers: [(key: String, value: JSONText)] {
        var members: [(key: String, value: JSONText)] = [("size", .text(size.text))]
        if spread > .zero { members.append(("spread", .text(spread.text))) }
        if pause > .zero { members.append(("pause", .text(pause.text))) }
        return members
    }
}

extension Corrupt.Position {
    fileprivate var writtenMembers: [(key: String, value: JSONText)] {
        switch self {
        case .at(let offset): [("at", .text(offset.text))]
        case .between(let low, let high): [("between", .array([.text(low.text), .text(high.text)]))]
        case .rate(let rate): [("rate", .text(rate.text))]
        }
    }
}

extension Cut.Position {
    fileprivate var writtenMembers: [(key: String, value: JSONText)] {
        switch self {
        case .at(let offset): [("at", .text(offset.text))]
        case .inTurn(let offsets): [("at", .array(offsets.map { .text($0.text) }))]
        case .every(let step): [("every", .text(step.text))]
        case .between(let low, let high): [("between", .array([.text(low.text), .text(high.text)]))]
        case .after(let age): [("after", .text(age.text))]
        case .idle(let time): [("idle", .text(time.text))]
        case .pattern(let pattern): [("pattern", pattern.written)]
        }
    }
}
