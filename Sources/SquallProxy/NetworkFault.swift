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
/// It holds what an element of `faults` in a profile holds, and is checked like one when the profile is read. Every kind has
/// a function here (docs/profiles.md says what each takes) but `tls`, which needs a proxy that speaks TLS; `json(_:)` has
/// every key.
public struct NetworkFault: Sendable {
    /// The end of a connection that a fault cuts.
    public enum Ending: String, Sendable {
        /// By RST.
        case reset
        /// By FIN.
        case close
        /// The same, behind a close_notify where the proxy speaks TLS.
        case notify
        /// No byte passes any more, and nobody is told.
        case silence
    }

    /// A connect that doesn't succeed.
    public enum Refusal: String, Sendable {
        /// It isn't answered.
        case hang
        /// It is refused, by RST.
        case refuse
        /// Its connection is closed at once.
        case close
    }

    /// A network that is gone.
    public enum OutageMode: String, Sendable {
        /// Live connections are reset, and new ones refused.
        case refuse
        /// Live connections are reset; new ones are refused or reset.
        case reset
        /// Nothing passes, and nobody is told.
        case silence
    }

    /// The element that members are added to; `nil` for an empty one.
    let text: String?
    /// The kind; `nil` for a fault of JSON.
    let kind: String?
    private var members: [(key: String, value: JSONText)]
    private var condition: [(key: String, value: JSONText)] = []

    private init(_ kind: String, _ members: (key: String, value: JSONText)...) {
        text = nil
        self.kind = kind
        self.members = [("kind", .text(kind))] + members
    }

    private init(text: String) { (self.text, kind, members) = (text, nil, []) }

    /// A fault as JSON: one element of `faults` in a profile. `on`, `named` and the like add to it what it doesn't have.
    public static func json(_ text: String) -> NetworkFault { NetworkFault(text: text) }

    /// A delay of each byte, drawn evenly from `delay` − `jitter` to `delay` + `jitter`.
    public static func latency(_ delay: Duration, jitter: Duration = .zero) -> NetworkFault {
        NetworkFault("latency", ("delay", .text(delay.text)), ("jitter", .text(jitter.text)))
    }

    /// A rate in bytes a second, 1 or more, for each connection, or for all of them with `shared`.
    public static func bandwidth(bytesPerSecond: Int, shared: Bool = false) -> NetworkFault {
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

    /// A chance in percent as text without an exponent.
    private static func percentage(_ percent: Double) -> JSONText {
        .text(Probability(percent / 100)?.text ?? "\(percent) %")
    }

    /// Loss of segments, as TCP makes up for it: pauses and a lower rate, no missing byte.
    ///
    /// - Parameters:
    ///   - percent: The part of the segments that is lost, from 0 and below 100.
    ///   - burst: The mean number of segments lost in a row, from 1 to 1,000.
    ///   - roundTrip: The round-trip time, above zero.
    public static func loss(percent: Double, burst: Int = 1, roundTrip: Duration) -> NetworkFault {
        NetworkFault(
            "loss",
            ("rate", percentage(percent)),
            ("burst", .signed(Int64(burst))),
            ("rtt", .text(roundTrip.text))
        )
    }

    /// A bit that is flipped in the byte at `offset`.
    public static func corrupt(at offset: Int) -> NetworkFault { NetworkFault("corrupt", ("at", size(offset))) }

    /// Bytes with a flipped bit, each with a chance in percent, above 0.
    public static func corrupt(percent: Double) -> NetworkFault {
        NetworkFault("corrupt", ("rate", percentage(percent)))
    }

    /// `count` bytes that are left out, 1 or more, after `offset` bytes.
    public static func truncate(at offset: Int = 0, bytes count: Int) -> NetworkFault {
        NetworkFault("truncate", ("at", size(offset)), ("bytes", size(count)))
    }

    /// Bytes, from 1 to 4,096, that are inserted after `offset` bytes.
    public static func insert(_ bytes: [UInt8], at offset: Int) -> NetworkFault {
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return NetworkFault("insert", ("at", size(offset)), ("bytes", .object([("hex", .text(digits))])))
    }

    /// The rate of a recorded link: a file with a time in milliseconds on each line, at which 1,500 bytes pass.
    public static func trace(file: String) -> NetworkFault { NetworkFault("trace", ("file", .text(file))) }

    /// Writes of at most `bytes`, 1 or more, with a pause after each.
    public static func slice(bytes: Int, pause: Duration = .zero) -> NetworkFault {
        NetworkFault("slice", ("size", size(bytes)), ("pause", .text(pause.text)))
    }

    /// A receiver with a small window that reads at a rate in bytes per second, 1 or more.
    public static func slowReader(bytesPerSecond: Int) -> NetworkFault {
        NetworkFault("slow-reader", ("rate", .text("\(bytesPerSecond) B/s")))
    }

    /// A response of the proxy's own to each HTTP/1 request, with a status from 200 to 599 and fields of different names.
    public static func answer(_ status: Int, fields: [(String, String)] = [], body: String = "") -> NetworkFault {
        let fields = fields.map { (key: $0.0, value: JSONText.text($0.1)) }
        let answer: [(key: String, value: JSONText)] = [
            ("status", .signed(Int64(status))), ("header", .object(fields)), ("body", .text(body)),
        ]
        return NetworkFault("http", ("answer", .object(answer)))
    }

    /// Interim responses with these statuses, within 100 to 199, that are left out.
    public static func dropInterim(_ statuses: ClosedRange<Int> = 100...199) -> NetworkFault {
        NetworkFault("http", ("drop", .text("\(statuses.lowerBound)..\(statuses.upperBound)")))
    }

    /// A connect that is answered late, by a time above zero.
    public static func connect(delayedBy time: Duration) -> NetworkFault {
        NetworkFault("connect", ("how", .text("delay")), ("for", .text(time.text)))
    }

    /// A connect that isn't answered, is refused, or whose connection is closed at once.
    public static func connect(_ how: Refusal) -> NetworkFault { NetworkFault("connect", ("how", .text(how.rawValue))) }

    /// A server that accepts at most a number of connections, from 1 to 1,000,000, and refuses or
    /// ignores others.
    public static func connectionLimit(_ count: Int, isSilent: Bool = false) -> NetworkFault {
        NetworkFault("connection-limit", ("limit", .signed(Int64(count))), ("how", .text(isSilent ? "hang" : "refuse")))
    }

    /// The end of a stream, by FIN, that comes late by a time above zero.
    public static func slowClose(by time: Duration) -> NetworkFault {
        NetworkFault("slow-close", ("by", .text(time.text)))
    }

    /// A direction that ends after `offset` bytes, while the other goes on. It needs `on(_:)`.
    public static func halfOpen(at offset: Int) -> NetworkFault { NetworkFault("half-open", ("at", size(offset))) }

    /// Bytes that are taken and never sent; with a time, the connection is closed after it.
    public static func discard(closingAfter time: Duration? = nil) -> NetworkFault {
        var fault = NetworkFault("discard")
        if let time { fault.members.append(("close-after", .text(time.text))) }
        return fault
    }

    private static func size(_ bytes: Int) -> JSONText { .text("\(bytes) B") }

    /// A network that is gone.
    public static func outage(_ how: OutageMode) -> NetworkFault {
        NetworkFault("outage", ("how", .text(how.rawValue)))
    }

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
    public func chance(percent: Double) -> NetworkFault { adding(condition: ("chance", Self.percentage(percent))) }

    /// The fault for clients that name one of these hosts only, such as `api.example.com` or `*.example.com`.
    public func hosts(_ names: [String]) -> NetworkFault {
        adding(condition: ("host", .array(names.map { .text($0) })))
    }

    private func adding(
        member: (key: String, value: JSONText)? = nil,
        condition: (key: String, value: JSONText)? = nil
    ) -> NetworkFault {
        var fault = self
        if let member { fault.members.append(member) }
        if let condition { fault.condition.append(condition) }
        return fault
    }

    /// The fault as an element of a profile's list.
    var json: JSONText {
        let all = members + (condition.isEmpty ? [] : [(key: "when", value: .object(condition))])
        guard let text else { return .object(all) }
        // What is no object is a problem, which the reader of profiles tells.
        guard !all.isEmpty, let end = text.lastIndex(of: "}") else { return .literal(text) }
        let isEmpty = text[..<end].last { !$0.isWhitespace } == "{"
        let added = JSONText.object(all).compact.dropFirst().dropLast()
        return .literal(text[..<end] + (isEmpty ? "" : ", ") + added + text[end...])
    }
}

/// A phase made in Swift, for `NetworkProfile.phases(_:always:repeats:)`.
public struct NetworkPhase: Sendable {
    /// The name, which `FaultProxy.enter(phase:)` takes.
    public let name: String
    /// How long it lasts; `nil` for ever.
    public let duration: Duration?
    /// The faults that are on in it.
    public let faults: [NetworkFault]

    /// Makes a phase.
    ///
    /// - Parameters:
    ///   - name: The name, unique in the profile.
    ///   - duration: How long it lasts, above zero; `nil` only for the last, which lasts for ever.
    ///   - faults: The faults that are on in it; by default none.
    public init(_ name: String, for duration: Duration? = nil, _ faults: [NetworkFault] = []) {
        (self.name, self.duration, self.faults) = (name, duration, faults)
    }

    /// The members of its object but for the faults.
    var members: Substring {
        let length = duration.map { [(key: "for", value: JSONText.text($0.text))] } ?? []
        return JSONText.object([("name", .text(name))] + length).compact.dropFirst().dropLast()
    }
}
