import Units

extension RunReport.Ending {
    /// "exit 3", "signal 9 (SIGKILL)", "stopped at the time limit of 30 s".
    package var text: String {
        switch self {
        case .exit(let code): "exit \(code)"
        case .signal(let number): "signal \(number)\(RunReport.Ending.names[number].map { " (\($0))" } ?? "")"
        case .timeLimit(let limit): "stopped at the time limit of \(limit.text)"
        case .guardLost(let wasStopped): "killed, because its guard was \(wasStopped ? "stopped" : "killed")"
        case .interrupted: "interrupted"
        case .notRun: "not run"
        }
    }

    /// The signals that have the same number on Linux and on macOS.
    private static let names: [Int32: String] = [
        1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL",
        11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
    ]
}

/// The words that the reports share.
package enum ReportText {
    /// "83 ms", "12.3 s", "2 min 5 s", "1 h 2 min", rounded down; never negative.
    static func time(_ duration: Duration) -> String {
        let milliseconds = max(0, duration.nanoseconds / 1_000_000)
        let seconds = milliseconds / 1_000
        if seconds < 1 { return "\(milliseconds) ms" }
        if seconds < 100 { return "\(seconds).\(milliseconds % 1_000 / 100) s" }
        if seconds < 3_600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(Formatting.grouped(seconds / 3_600)) h \(seconds / 60 % 60) min"
    }

    /// "12.345": seconds with three decimals; never negative.
    static func thousandths(_ duration: Duration) -> String {
        let milliseconds = max(0, duration.nanoseconds / 1_000_000)
        let rest = String(milliseconds % 1_000)
        return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
    }

    static let columns = ["run", "result", "command", "time", "down", "up", "connections", "faults", "resumptions"]

    /// The last five columns.
    static func figures(_ figures: Measurements) -> [String] {
        [figures.downstream, figures.upstream].map(Formatting.size)
            + [figures.connections, figures.faults, figures.resumptions].map(Formatting.grouped)
    }

    /// "1 run", "2 runs".
    static func count(_ number: Int, _ thing: String) -> String {
        "\(Formatting.grouped(Int64(number))) \(thing)\(number == 1 ? "" : "s")"
    }

    /// "3.4 %".
    static func percent(_ share: Double) -> String {
        let tenths = Int64((min(share, 1e12) * 1_000).rounded())
        return "\(Formatting.grouped(tenths / 10)).\(tenths % 10) %"
    }

    /// "cut 3, latency 1": the events of faults by kind, the most frequent first; `nil` if there are none.
    static func faults(of proxies: [Measurements.Proxy]) -> String? {
        let counts = proxies.reduce(into: [:]) { counts, proxy in
            counts.merge(proxy.faults) { $0.addingSaturated($1) }
        }
        let present = counts.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard !present.isEmpty else { return nil }
        return present.map { "\($0.key) \(Formatting.grouped($0.value))" }.joined(separator: ", ")
    }

    /// The end of a text, at most `limit` bytes of UTF-8, from the begin of a line on if there is one.
    static func end(of text: String, limit: Int) -> Substring {
        guard text.utf8.count > limit else { return text[...] }
        let bytes = text.utf8
        var start = bytes.index(bytes.endIndex, offsetBy: -limit)
        while start < bytes.endIndex, bytes[start] & 0xC0 == 0x80 { start = bytes.index(after: start) }
        let rest = text.unicodeScalars[start...]
        if let feed = rest.firstIndex(of: "\n"), rest.index(after: feed) < rest.endIndex {
            start = rest.index(after: feed)
        }
        return Substring(text.unicodeScalars[start...])
    }

    /// The most characters of a replay line in a report that people read.
    private static let replayLimit = 16_000

    /// The line that repeats a run: whole, because a part of it repeats nothing, or words that say where it is.
    static func replay(_ run: RunReport) -> String {
        if run.replay.unicodeScalars.count <= replayLimit { return run.replay }
        return "the line is longer than \(Formatting.grouped(Int64(replayLimit))) characters; the JUnit report has it"
    }

    /// The command and its arguments on one line, those that a shell would take apart in quotes.
    package static func command(_ arguments: [String]) -> String { arguments.map(quoted).joined(separator: " ") }

    private static func quoted(_ argument: String) -> String {
        // Reports show a hidden character as an escape of their own. Those of $'…' are read by bash, ksh and zsh, and by
        // each shell of POSIX.1-2024.
        if argument.unicodeScalars.contains(where: \.isHidden) { return "$'\(escaped(argument))'" }
        let isPlain = argument.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "/", ":", "=", "@", "%", "+", "{", "}": true
            default: false
            }
        }
        // bash takes “{1..2}” for a list.
        let isList = argument.contains("{") && argument.contains("..")
        return isPlain && !isList && !argument.isEmpty ? argument : "'\(argument.escaping(["'": "'\\''"]))'"
    }

    private static func escaped(_ argument: String) -> String {
        argument.unicodeScalars.map { scalar in
            switch scalar {
            case "'", "\\": return "\\\(scalar)"
            case "\n": return "\\n"
            case "\t": return "\\t"
            case _ where scalar.isHidden:
                return String(scalar).utf8.map { "\\\(String(Int($0) + 0o1000, radix: 8).dropFirst())" }.joined()
            default: return String(scalar)
            }
        }.joined()
    }
}

extension RunReport {
    /// The end of the output as lines, with control sequences shown as text.
    struct OutputEnd {
        /// The lines, with control and format characters as `\u{…}`; without a line feed at the end.
        var text: String
        /// The bytes of output in front of it.
        var dropped: Int64
        var heading: String {
            "The end of the output" + (dropped > 0 ? "; \(Formatting.size(dropped)) before it left out" : "")
        }
    }

    /// The most bytes of output that a report has of a run that passed: 8 KiB.
    static let passedOutputLimit = 8_192

    /// The end of the output, at most `limit` bytes before control characters are shown; `nil` if there is no output.
    /// Without a limit it is all that there is of a run that failed.
    func outputEnd(limit: Int? = nil) -> OutputEnd? {
        guard !output.isEmpty || droppedOutput > 0 else { return nil }
        // A scalar at a time: to Swift a carriage return and a line feed are one character.
        var scalars = String.UnicodeScalarView()
        var isReturn = false
        for scalar in output.unicodeScalars {
            if isReturn, scalar != "\n" { scalars.append("\r") }
            isReturn = scalar == "\r"
            if !isReturn { scalars.append(scalar) }
        }
        if isReturn { scalars.append("\r") }
        while scalars.last == "\n" { scalars.removeLast() }
        let shown = ReportText.end(
            of: String(scalars),
            limit: limit ?? (isFailure ? RunReport.outputLimit : RunReport.passedOutputLimit)
        )
        let dropped = Int64(scalars.reduce(0) { $0 + UTF8.width($1) } - shown.utf8.count)
        return OutputEnd(text: String(shown).visibleLines, dropped: droppedOutput.addingSaturated(dropped))
    }
}

extension String {
    /// This text with other texts for some of its scalars. A method on characters would miss a sign that a combining
    /// mark follows.
    func escaping(_ table: [Unicode.Scalar: String]) -> String {
        guard unicodeScalars.contains(where: { table[$0] != nil }) else { return self }
        var result = ""
        for scalar in unicodeScalars {
            if let text = table[scalar] { result += text } else { result.unicodeScalars.append(scalar) }
        }
        return result
    }
}

extension RunReport {
    var sign: String {
        switch result {
        case .passed: "✓"
        case .empty: "∅"
        case .failed: "✗"
        case .skipped: "–"
        }
    }

    var style: String { result == .passed ? "good" : isFailure ? "bad" : "idle" }

    /// The result with the first sentence about it: "passed", "empty: no connection came".
    var headline: String {
        let reason = result == .skipped ? RunReport.interruption : findings.first
        return reason.map { "\(result.rawValue): \($0)" } ?? result.rawValue
    }

    /// Why a run was skipped.
    static let interruption = "the stage was interrupted"
}
