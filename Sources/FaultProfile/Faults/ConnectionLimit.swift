import Units

/// Limits the number of open connections of the proxy.
public struct ConnectionLimit: Hashable, Sendable {
    /// The connections of the proxy that may be open at a time: 1 to `largest`.
    public var limit: Int
    /// What happens to a further connection.
    public var how: Mode

    /// The largest limit: a million.
    public static let largest = 1_000_000

    /// What happens to a connection beyond the limit.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// It is accepted and reset.
        case refuse
        /// It waits in the backlog until another ends.
        case hang
    }
}

extension ConnectionLimit: FaultDefinition {
    static let word = "connection-limit"
    static let summary = "Bounds how many connections of the proxy are open at a time."
    static let streams: [StreamSelection] = [.both]
    static let example = #"{ "kind": "connection-limit", "limit": 10, "how": "hang" }"#
    static let table = ObjectTable(
        ConnectionLimit(limit: 1, how: .refuse),
        texts: """
            limit: connections that may be open
            how: one more is accepted and reset, or waits in the system's queue
            """,
        [
            .required("limit", \.limit, .wholeNumber(.connectionCount, in: 1...largest)),
            .written("how", \.how, .choice, default: .refuse),
        ]
    )

    static var limits: [(text: String, name: String, value: String)] {
        [("connections of a connection-limit", "ConnectionLimit.largest", "1,000,000")]
    }

    var kind: FaultKind { .connectionLimit(self) }
    var figures: FaultFigures {
        FaultFigures(text: "connection-limit of \(limit), \(how.rawValue)", isAtPosition: true)
    }
    var reasonAgainstMessages: String? { "it counts connections" }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        context.checkBothStreams("a connection-limit fault acts on connections as a whole", &decoder)
        // All that are open are counted.
        guard !context.condition.isForEverybody else { return }
        decoder.report(
            "a connection-limit fault counts every open connection, whichever it is",
            remedy: "leave “clock”, “duty” and “after” in “when”, and delete the rest",
            at: context.object.place(of: "when")
        )
    }
}
