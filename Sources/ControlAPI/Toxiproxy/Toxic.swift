import FaultPlan
import FaultProfile
import Units

/// A toxic: a fault as Toxiproxy's clients describe it.
package struct Toxic: Hashable, Sendable {
    /// The name, unique on its proxy.
    package let name: String
    package let type: ToxicType
    /// The direction as the client wrote it; Toxiproxy returns it unchanged.
    package let writtenStream: String
    /// The chance that a connection is affected, as Toxiproxy's 32-bit number.
    package var toxicity: Float
    /// The values of `type.attributes`, in that order.
    package var values: [Int64]

    /// The largest value of an attribute: 2^53, the largest whole number that every JSON parser reads exactly.
    static let largestValue: Int64 = 1 << 53

    var direction: Direction { writtenStream.lowercased() == "upstream" ? .upstream : .downstream }

    /// The toxic as Toxiproxy writes it.
    var json: JSONText {
        .object([
            ("attributes", .object(zip(type.attributes, values).map { ($0, .signed($1)) })),
            ("name", .text(name)),
            ("type", .text(type.rawValue)),
            ("stream", .text(writtenStream)),
            ("toxicity", .literal(toxicity.goText)),
        ])
    }

    /// The fault that does what the toxic says; `nil` for a toxic without an effect.
    ///
    /// Its name is `name`. A toxic of rate 0 stalls its direction until it is removed.
    func fault(named name: String) -> Fault? {
        guard toxicity > 0, let kind else { return nil }
        let chance = toxicity < 1 ? Probability(Double(toxicity)) ?? .always : .always
        return Fault(
            name: name,
            stream: direction == .upstream ? .upstream : .downstream,
            condition: Condition(chance: chance),
            kind: kind
        )
    }

    private var kind: FaultKind? {
        func milliseconds(_ index: Int) -> Duration { .milliseconds(max(0, values[index])) }
        switch type {
        case .noop: return nil
        case .latency:
            let latency = Latency(delay: milliseconds(0), jitter: milliseconds(1))
            return latency.delay > .zero || latency.jitter > .zero ? .latency(latency) : nil
        case .bandwidth:
            // Kilobytes of 1,000 bytes a second.
            guard values[0] > 0 else { return .outage(Outage(how: .silence)) }
            return .bandwidth(Bandwidth(rate: .bytesPerSecond(min(values[0], Toxic.largestRate) * 1_000)))
        case .slowClose:
            return values[0] > 0 ? .slowClose(SlowClose(delay: milliseconds(0))) : nil
        case .timeout:
            return .discard(Discard(closeAfter: values[0] > 0 ? milliseconds(0) : nil))
        case .resetPeer:
            return .cut(Cut(position: .traffic(milliseconds(0)), how: .reset))
        case .slicer:
            guard values[0] > 0 else { return nil }
            let spread = min(max(0, values[1]), values[0] - 1)
            return .slice(
                Slice(
                    size: ByteCount(values[0]),
                    spread: ByteCount(spread),
                    pause: .microseconds(max(0, values[2]))
                )
            )
        case .limitData:
            return .cut(Cut(position: .limit(ByteCount(max(0, values[0]))), how: .close))
        }
    }

    /// The largest rate, in kilobytes a second, that a bandwidth can express in bits a second.
    private static let largestRate = Int64.max / 8_000
}

extension Toxic {
    /// The reason why the values can't be used, for a client; `nil` if they can. Toxiproxy takes all values, and some of
    /// them end its process.
    var problem: String? {
        guard toxicity >= 0, toxicity <= 1 else { return "toxicity must be from 0 to 1" }
        for (name, value) in zip(type.attributes, values) {
            if value < 0 { return "\(name) must not be negative" }
            if value > Toxic.largestValue { return "\(name) must not be above \(Toxic.largestValue)" }
        }
        if type == .slicer, values[0] == 0 { return "average_size must be above 0" }
        return nil
    }
}

extension Float {
    /// The number as Go's encoding/json writes it: "1", "0.5", "1e-7".
    fileprivate var goText: String {
        var text = "\(self)"
        if text.hasSuffix(".0") { text.removeLast(2) }
        return text.replacing("e-0", with: "e-")
    }
}
