import FaultPlan
import FaultProfile
import FoundationEssentials
import Replay

/// A problem of a journal line, with its remedy.
struct JournalProblem: Error {
    let what: String
    var remedy = "delete the line, or write the journal again with squall run --journal"
}

/// Parses the lines after a journal's header and rejects those that the header doesn't explain.
struct JournalLineReader {
    private struct Line: Decodable {
        var proxy: String
        var connection: Int64?
        var direction: String?
        var fault: String
        var of: String?
        var offset: Int64?
        var request: Int64?
        var time: String?
        var what: String
    }

    /// A line that counts omitted ones.
    private struct Omission: Decodable {
        var event: String
        var lines: Int64
    }

    /// A line about another profile.
    private struct Change: Decodable {
        var event: String
    }

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

    /// The number of lines omitted at this one; `nil` for a fault.
    func omitted(_ text: Data) -> Int64? {
        guard let omission = try? JSONDecoder().decode(Omission.self, from: text), omission.event == "omitted",
            omission.lines > 0
        else { return nil }
        return omission.lines
    }

    /// Rejects a line about another profile.
    func checkProfile(_ text: Data) throws(JournalProblem) {
        guard let change = try? JSONDecoder().decode(Change.self, from: text), change.event == "profile" else { return }
        throw JournalProblem(
            what: "the profile changed here while the journal was written, and faults of several profiles can't be "
                + "struck again",
            remedy: "take the journal of a run whose profile stays the same"
        )
    }

    /// The event of a line, and its time if it has one.
    func event(_ text: Data) throws(JournalProblem) -> (event: RecordedFaultEvent, time: String?) {
        let line: Line
        do {
            line = try JSONDecoder().decode(Line.self, from: text)
        } catch {
            throw JournalProblem(what: "this is no line of a journal: \(JournalLineReader.reason(error, text))")
        }
        if let connection = line.connection, connection < 1 {
            throw JournalProblem(what: "“connection” is \(connection), and connections count from 1")
        }
        let event = RecordedFaultEvent(
            proxy: line.proxy,
            connection: line.connection.map(UInt64.init),
            direction: try JournalLineReader.value(line.direction, "direction"),
            fault: line.fault,
            offset: line.offset,
            base: try JournalLineReader.value(line.of, "of") ?? .connection,
            request: line.request,
            what: line.what
        )
        try check(event)
        return (event, line.time)
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
        guard ReplayPlan.isAtPosition(kind), event.what != FaultEvent.Effect.unreadWord else { return }
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

    /// The value of a word; `nil` without a word.
    private static func value<Value>(_ word: String?, _ key: String) throws(JournalProblem) -> Value?
    where Value: RawRepresentable<String> & CaseIterable {
        guard let word else { return nil }
        if let value = Value(rawValue: word) { return value }
        let known = Value.allCases.map(\.rawValue.quoted).joined(separator: ", ")
        throw JournalProblem(what: "\(word.quoted) is not a value of \(key.quoted), whose values are \(known)")
    }

    /// "“what” is missing", "it is no object of JSON".
    private static func reason(_ error: any Error, _ text: Data) -> String {
        if case DecodingError.keyNotFound(let key, _) = error { return "\(key.stringValue.quoted) is missing" }
        return JSONSyntax.isObject(text)
            ? "it has a value of another type than a journal has" : "it is no object of JSON"
    }
}
