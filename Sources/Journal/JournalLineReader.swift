import FaultPlan
import FaultProfile

/// Reads the lines after a journal's header and rejects those that the header doesn't explain.
struct JournalLineReader {
    private let proxies: Set<String>
    /// The kinds of each proxy's faults by name.
    private let kinds: [String: [String: FaultKind]]

    init(_ header: JournalHeader) {
        proxies = Set(header.proxies.map(\.name))
        let kinds = header.proxies.map { proxy in
            let profile = header.profile.narrowed(to: proxy.name)
            let faults = profile.faults + profile.phases.flatMap(\.faults)
            return (proxy.name, Dictionary(faults.map { ($0.name, $0.kind) }) { first, _ in first })
        }
        self.kinds = Dictionary(kinds) { first, _ in first }
    }

    /// What a line says.
    enum Meaning {
        /// A fault acted, at a time if the line has one.
        case event(RecordedFaultEvent, time: String?)
        /// So many lines were left out here.
        case omitted(Int64)
        /// The target of a connection.
        case target(RecordedTarget, proxy: String, connection: UInt64)
        /// Something without a fault.
        case notice
    }

    /// What the object of a line says.
    func meaning(of node: JSONNode) throws(JournalProblem) -> Meaning {
        switch node["event"]?.cell {
        case "profile":
            throw JournalProblem(
                what:
                    "the network was changed here while the journal was written, and what was done before and after that "
                    + "can't be re-injected together",
                remedy: "take the journal of a run in which nothing is changed"
            )
        case "tls":
            return .notice
        case "connect":
            return try target(node)
        case "omitted":
            guard let count = try node.integer("lines"), count > 0 else {
                throw JournalProblem(what: "“omitted” says how many lines were left out, and “lines” isn't above 0")
            }
            return .omitted(count)
        case "journal":
            throw JournalProblem(
                what: "a second journal begins here",
                remedy: "move the lines from here on into a file of their own"
            )
        case nil: break
        case .some(let word):
            throw JournalProblem(
                what: "\(word.quoted) is not an event of a journal (“event”)",
                remedy: "replay it with the version of squall that wrote it, or delete the line"
            )
        }
        let connection = try node.integer("connection")
        let event = RecordedFaultEvent(
            proxy: try node.required("proxy"),
            connection: connection.map { UInt64(clamping: $0) },
            direction: try node.word("direction"),
            fault: try node.required("fault"),
            offset: try node.integer("offset"),
            base: try node.word("of") ?? .connection,
            request: try node.integer("request"),
            what: try node.required("what")
        )
        if let connection, connection < 1 {
            throw JournalProblem(what: "“connection” is \(connection), and connections count from 1")
        }
        try check(event)
        return .event(event, time: try node.text("time"))
    }

    private func target(_ node: JSONNode) throws(JournalProblem) -> Meaning {
        let (proxy, text) = (try node.required("proxy"), try node.required("target"))
        // A connect that wasn't accepted has no numbers, and no faults of its own.
        guard let connection = try node.integer("connection"), let number = try node.integer("number") else {
            return .notice
        }
        guard connection > 0, number > 0 else { throw JournalProblem(what: "connections count from 1") }
        guard number <= ProfileLimits.connectionNumber else {
            throw JournalProblem(what: "“number” is \(number), above \(ProfileLimits.connectionNumber)")
        }
        guard let host = try? HostPattern(parsing: text) else {
            throw JournalProblem(what: "\(text.quoted) is no target: an address with a port")
        }
        return .target(RecordedTarget(host: host, number: UInt64(number)), proxy: proxy, connection: UInt64(connection))
    }

    private func check(_ event: RecordedFaultEvent) throws(JournalProblem) {
        guard proxies.contains(event.proxy) else {
            throw JournalProblem(what: "the header has no proxy \(event.proxy.quoted)")
        }
        guard let kind = kinds[event.proxy]?[event.fault] else {
            throw JournalProblem(what: "the profile of the header has no fault \(event.fault.quoted)")
        }
        guard RecordedFaultEvent.words.contains(event.what) else {
            throw JournalProblem(what: "\(event.what.quoted) is nothing that a fault does (“what”)")
        }
        if let offset = event.offset, offset < 0 { throw JournalProblem(what: "“offset” is \(offset), below 0") }
        if let request = event.request, request < 1 {
            throw JournalProblem(what: "“request” is \(request), and requests count from 1")
        }
        if event.base != .connection, event.request == nil {
            throw JournalProblem(what: "“of” tells of a message of HTTP, and “request” is missing")
        }
        // Any fault that parses messages may report that a stream isn't HTTP.
        guard kind.isReplayedByPosition, event.what != FaultEvent.Effect.unreadWord else { return }
        let parts = [
            ("connection", event.connection == nil), ("direction", event.direction == nil),
            ("offset", event.offset == nil),
        ]
        if let missing = parts.first(where: \.1) {
            throw JournalProblem(
                what: "the fault \(event.fault.quoted) strikes at a position, and \(missing.0.quoted) is missing"
            )
        }
    }
}

/// The members of a line, by their types.
extension JSONNode {
    private static var otherType: JournalProblem {
        JournalProblem(what: "this is no line of a journal: it has a value of another type than a journal has")
    }

    func text(_ key: String) throws(JournalProblem) -> String? {
        guard let node = self[key] else { return nil }
        guard case .text(let text) = node.value else { throw JSONNode.otherType }
        return text
    }

    func required(_ key: String) throws(JournalProblem) -> String {
        guard let text = try text(key) else {
            throw JournalProblem(what: "this is no line of a journal: \(key.quoted) is missing")
        }
        return text
    }

    func integer(_ key: String) throws(JournalProblem) -> Int64? {
        guard let node = self[key] else { return nil }
        guard case .number(let digits) = node.value, let number = Int64(digits) else { throw JSONNode.otherType }
        return number
    }

    func word<Value>(_ key: String) throws(JournalProblem) -> Value?
    where Value: RawRepresentable<String> & CaseIterable {
        guard let word = try text(key) else { return nil }
        if let value = Value(rawValue: word) { return value }
        let known = Value.allCases.map(\.rawValue.quoted).joined(separator: ", ")
        throw JournalProblem(what: "\(word.quoted) is not a value of \(key.quoted), whose values are \(known)")
    }
}
