import Units

/// Replaces the immediate acceptance of a connection.
public struct Connect: Hashable, Sendable {
    /// What the client sees.
    public var how: Mode

    /// What happens to a new connection.
    public enum Mode: Hashable, Sendable {
        /// The client is accepted; the server is dialed and the client is read after a time above zero, drawn evenly from
        /// `jitter` below to `jitter` above it.
        case delay(Duration, jitter: Duration)
        /// Connections aren't accepted while the fault is on. Those selected by conditions are accepted by the system, but
        /// not read, and no server is dialed.
        case hang
        /// Connections are refused. Those selected by conditions are accepted and reset.
        case refuse
        /// The client is accepted and sees the end of the stream (FIN) at once; no server is dialed.
        case close
    }
}

extension Connect: FaultDefinition {
    static let word = "connect"
    static let summary = "What happens when a client connects: it is answered late, never, by a refusal, or by an end."
    static let streams: [StreamSelection] = [.both]
    static let example = #"{ "kind": "connect", "how": "delay", "for": "2 s", "jitter": "500 ms" }"#
    static let table = ObjectTable(
        Connect(how: .hang),
        texts: """
            how: late, unanswered, refused, or closed at once; see the table
            for: required with `delay`, and only then: how long the proxy neither connects to the server nor reads
            jitter: with `delay`: how far each connection's draw may lie from `for`, evenly; never below zero
            """,
        rules: [("if", .has(["how": "delay"])), ("then", .requires("for"))],
        [
            .part("how", .choice, isRequired: true) {
                $0.how.word
            } set: {
                $0.how = $1.mode
            },
            .part("for", .positiveDuration) {
                if case .delay(let time, _) = $0.how { time } else { nil }
            } set: {
                if case .delay(_, let jitter) = $0.how { $0.how = .delay($1, jitter: jitter) }
            },
            .part("jitter", .duration, fallback: "`\"0 s\"`") {
                if case .delay(_, let jitter) = $0.how, jitter > .zero { jitter } else { nil }
            } set: {
                if case .delay(let time, _) = $0.how { $0.how = .delay(time, jitter: $1) }
            },
        ]
    )

    /// The words for `Mode`.
    fileprivate enum Word: String, CaseIterable {
        case delay
        case hang
        case refuse
        case close

        /// The mode, before its time is known.
        var mode: Mode {
            switch self {
            case .delay: .delay(.zero, jitter: .zero)
            case .hang: .hang
            case .refuse: .refuse
            case .close: .close
            }
        }
    }

    var kind: FaultKind { .connect(self) }
    var figures: FaultFigures {
        var text = "connect \(how.word.rawValue)"
        if case .delay(let time, let jitter) = how {
            text += " of \(time.text)" + (jitter > .zero ? " ± \(jitter.text)" : "")
        }
        return FaultFigures(text: text, isAtPosition: true)
    }
    var reasonAgainstMessages: String? { "no message has come when a connection begins" }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        context.checkBothStreams("a connect fault acts on the connection as a whole", &decoder)
        let (object, word) = (context.object, how.word)
        if word == .delay, object["for"] == nil {
            decoder.report(
                "a connect fault that delays needs the key “for”",
                remedy: "add “\"for\": \"2 s\"”",
                at: object.place
            )
        }
        for key in ["for", "jitter"] where word != .delay && object[key] != nil {
            decoder.report(
                "\(key.quoted) is for a connect fault that delays, not for \(word.rawValue.quoted)",
                remedy: word == .hang ? "delete it, and put the fault into a phase that lasts as long" : "delete it",
                at: object.place(of: key)
            )
        }
        checkAge(context, &decoder)
    }

    /// Reports conditions on age that can't apply to a new connection.
    private func checkAge(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        let condition = context.condition
        if condition.ageFrom > .zero {
            decoder.report(
                "a connect fault acts when a connection begins, not from an age of \(condition.ageFrom.text) on",
                remedy: "delete “age”, or write a “stall” or an “outage”",
                at: context.object.place(of: "when")
            )
        } else if let end = condition.ageUntil, how != .hang {
            decoder.report(
                "a connect fault acts when a connection begins, and only one that hangs ends at an age of \(end.text)",
                remedy: "delete “age”, or write “\"how\": \"hang\"”",
                at: context.object.place(of: "when")
            )
        }
    }
}

extension Connect.Mode {
    fileprivate var word: Connect.Word {
        switch self {
        case .delay: .delay
        case .hang: .hang
        case .refuse: .refuse
        case .close: .close
        }
    }
}
