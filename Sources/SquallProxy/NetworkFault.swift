internal import FaultProfile
internal import Units

/// A fault made in Swift, for `NetworkProfile.faults(_:)`.
///
/// ```swift
/// let profile = NetworkProfile.faults([
///     .latency(.milliseconds(80), jitter: .milliseconds(20)),
///     .cut(at: 65_536).on(.downstream).connections(1...2),
/// ])
/// ```
///
/// It holds what an element of `faults` in a profile holds, and is checked like one when the profile is read. `json(_:)`
/// has every kind and key.
public struct NetworkFault: Sendable {
    /// The end of a connection that a fault cuts.
    public enum Ending: String, Sendable {
        /// By RST.
        case reset
        /// By FIN.
        case close
        /// No byte passes any more, and nobody is told.
        case silence
    }

    /// A network that is gone.
    public enum Absence: String, Sendable {
        /// Live connections are reset, and new ones refused.
        case refuse
        /// Live connections are reset; new ones are refused or reset.
        case reset
        /// Nothing passes, and nobody is told.
        case silence
    }

    private enum Content {
        case members([(key: String, value: JSONText)], condition: [(key: String, value: JSONText)])
        case text(String)
    }

    private var content: Content

    private init(_ kind: String, _ members: (key: String, value: JSONText)...) {
        content = .members([("kind", .text(kind))] + members, condition: [])
    }

    /// A fault as JSON: an element of `faults` in a profile.
    public static func json(_ text: String) -> NetworkFault {
        var fault = NetworkFault("json")
        fault.content = .text(text)
        return fault
    }

    /// A delay of each byte, drawn evenly from `delay` − `jitter` to `delay` + `jitter`.
    public static func latency(_ delay: Duration, jitter: Duration = .zero) -> NetworkFault {
        NetworkFault("latency", ("delay", .text(delay.text)), ("jitter", .text(jitter.text)))
    }

    /// A rate in bytes a second, 1 or more, for each connection, or for all of them with `shared`.
    public static func bandwidth(_ bytesPerSecond: Int, shared: Bool = false) -> NetworkFault {
        NetworkFault("bandwidth", ("rate", .text("\(bytesPerSecond) B/s")), ("shared", .flag(shared)))
    }

    /// The end of each connection after `offset` bytes, zero or more.
    public static func cut(at offset: Int, by ending: Ending = .reset) -> NetworkFault {
        NetworkFault("cut", ("at", .text("\(offset) B")), ("how", .text(ending.rawValue)))
    }

    /// The end of each connection after `count` bytes, 1 or more.
    public static func cut(every count: Int, by ending: Ending = .reset) -> NetworkFault {
        NetworkFault("cut", ("every", .text("\(count) B")), ("how", .text(ending.rawValue)))
    }

    /// The end of each connection at an age above zero.
    public static func cut(after age: Duration, by ending: Ending = .reset) -> NetworkFault {
        NetworkFault("cut", ("after", .text(age.text)), ("how", .text(ending.rawValue)))
    }

    /// A pause of `duration`, above zero, after `offset` bytes.
    public static func stall(at offset: Int, for duration: Duration) -> NetworkFault {
        NetworkFault("stall", ("at", .text("\(offset) B")), ("for", .text(duration.text)))
    }

    /// Loss of segments, as TCP makes up for it: pauses and a lower rate, no missing byte.
    ///
    /// - Parameters:
    ///   - percent: The part of the segments that is lost, above 0 and below 100.
    ///   - burst: The mean number of segments lost in a row, 1 or more.
    ///   - roundTrip: The round-trip time, above zero.
    public static func loss(percent: Double, burst: Int = 1, roundTrip: Duration) -> NetworkFault {
        NetworkFault(
            "loss",
            ("rate", .text("\(percent) %")),
            ("burst", .signed(Int64(burst))),
            ("rtt", .text(roundTrip.text))
        )
    }

    /// A network that is gone.
    public static func outage(_ how: Absence) -> NetworkFault { NetworkFault("outage", ("how", .text(how.rawValue))) }

    /// The fault in one direction only.
    public func on(_ direction: FaultEvent.Direction) -> NetworkFault {
        adding(member: ("stream", .text(direction.rawValue)))
    }

    /// The fault under a name, which the journal and the draws use. The default is its kind, numbered from the second on.
    public func named(_ name: String) -> NetworkFault { adding(member: ("name", .text(name))) }

    /// The fault on connections of these numbers only; a proxy's first is 1.
    public func connections(_ numbers: ClosedRange<UInt64>) -> NetworkFault {
        adding(condition: ("connection", .text("\(numbers.lowerBound)..\(numbers.upperBound)")))
    }

    /// The fault on a connection with a chance in percent, above 0 and at most 100, drawn from the seed.
    public func chance(percent: Double) -> NetworkFault { adding(condition: ("chance", .text("\(percent) %"))) }

    /// A fault given as JSON stays as it is.
    private func adding(
        member: (key: String, value: JSONText)? = nil,
        condition: (key: String, value: JSONText)? = nil
    ) -> NetworkFault {
        guard case .members(let members, let conditions) = content else { return self }
        var fault = self
        fault.content = .members(
            members + (member.map { [$0] } ?? []),
            condition: conditions + (condition.map { [$0] } ?? [])
        )
        return fault
    }

    /// The fault as an element of a profile's list.
    var json: JSONText {
        switch content {
        case .text(let text): .literal(text)
        case .members(let members, let conditions):
            .object(members + (conditions.isEmpty ? [] : [(key: "when", value: .object(conditions))]))
        }
    }
}
