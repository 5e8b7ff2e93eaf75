import Units

extension FaultKind {
    /// The keys of this kind with their values, as a profile has them.
    var writtenMembers: [(key: String, value: JSONText)] {
        switch self {
        case .latency(let latency):
            var members: [(key: String, value: JSONText)] = [("delay", .text(latency.delay.text))]
            if latency.jitter > .zero { members.append(("jitter", .text(latency.jitter.text))) }
            if latency.distribution != .uniform {
                members.append(("distribution", .text(latency.distribution.rawValue)))
            }
            return members
        case .bandwidth(let bandwidth):
            var members: [(key: String, value: JSONText)] = [("rate", .text(bandwidth.rate.text))]
            if bandwidth.burst > .zero { members.append(("burst", .text(bandwidth.burst.text))) }
            if bandwidth.scope == .proxy { members.append(("shared", .flag(true))) }
            return members
        case .cut(let cut):
            return cut.position.writtenMembers + [("how", .text(cut.how.rawValue))]
        case .stall(let stall):
            return [("at", .text(stall.at.text)), ("for", .text(stall.duration.text))]
        case .outage(let outage):
            return [("how", .text(outage.how.rawValue))]
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
        }
    }
}
