import Dispatch
import OperatingSystem
import Synchronization
import SystemPackage
import Units

/// Lines at the bottom of a terminal that are redrawn, with permanent lines above. Does nothing if standard error isn't a
/// terminal.
///
/// Writes on its own queue, so callers such as event loops never wait for a slow terminal. A job in the background draws
/// nothing, and prints permanent lines only.
package final class LiveLine: Sendable {
    /// The maximum number of queued bytes; beyond it redraws are dropped and lines are counted.
    static let limit = 64 << 10

    /// Whether anything is shown.
    package let isOn: Bool
    private let screen: Screen

    /// Draws on the descriptor `output`, by default standard error. Without `hasEscapes` it uses only carriage returns and spaces.
    package init(
        output: Int32 = FileDescriptor.standardError.rawValue,
        isOn: Bool = Console.isTerminal,
        hasEscapes: Bool = TerminalAbilities.ofProcess.hasEscapes
    ) {
        self.isOn = isOn
        screen = Screen(output: FileDescriptor(rawValue: output), hasEscapes: hasEscapes)
    }

    deinit {
        // Flushes before other output on standard error, such as an error.
        if isOn { screen.flush() }
    }

    /// Replaces the live line by the line of `bar` for `progress`.
    package func draw(_ progress: ProgressSnapshot, _ bar: ProgressBar) {
        draw(lines: [bar.line(progress, columns: TerminalAbilities.columns)])
    }

    /// Replaces the live lines by `lines`, which fit the terminal and may have colors. More than one needs escape sequences.
    package func draw(lines: [String]) {
        guard isOn, Terminal.isInForeground else { return }
        screen.draw(lines, terminalColumns: TerminalAbilities.columns + 1)
    }

    /// Prints a permanent line above the live one: `text` as it is, if the terminal has to wrap it, for text to copy.
    package func print(_ text: String) { print(lines: [text.visibleLine]) }

    /// Prints a permanent line above the live one, cut after a word if it is too wide.
    package func print(cutting text: String) {
        let glyphs: ProgressBar.Glyphs = TerminalAbilities.ofProcess.hasUnicode ? .unicode : .ascii
        print(lines: [
            TerminalText.cut(text.visibleLine, to: TerminalAbilities.columns, ellipsis: glyphs.ellipsis)
        ])
    }

    /// Prints a permanent line above the live one, in several if it is too wide: broken between words.
    package func print(wrapping text: String) {
        print(fields: text.split(separator: " ", omittingEmptySubsequences: false).map(String.init))
    }

    /// Prints a permanent line of `fields` above the live one, in several if it is too wide: broken between fields.
    package func print(fields: [String]) {
        print(lines: TerminalText.lines(of: fields.map(\.visibleLine), to: TerminalAbilities.columns))
    }

    private func print(lines: [String]) {
        guard isOn else { return }
        if !Terminal.isInForeground { screen.forget() }
        screen.print(lines, terminalColumns: TerminalAbilities.columns + 1)
    }

    /// Removes the live lines and waits until everything is written.
    package func clear() {
        guard isOn else { return }
        screen.flush()
        if !Terminal.isInForeground { screen.forget() }
        screen.draw([], terminalColumns: TerminalAbilities.columns + 1)
        screen.flush()
    }

    /// Removes the live lines; waits at most `patience` for a terminal that is stopped, and gives it up then.
    package func clear(within patience: Duration) {
        guard isOn else { return }
        if !Terminal.isInForeground { screen.forget() }
        screen.draw([], terminalColumns: TerminalAbilities.columns + 1)
        screen.flush(within: patience)
    }
}

/// The output queue of a terminal.
private final class Screen: Sendable {
    private struct State {
        /// The live lines as last asked for.
        var wanted: [String] = []
        /// The live lines as last queued.
        var shown: [String] = []
        /// The width of the terminal, which breaks lines that were drawn when it was wider.
        var columns = 0
        /// The queued text.
        var waiting = ""
        /// The number of lines dropped since the last printed one.
        var dropped = 0
        /// Whether the terminal took nothing for too long.
        var isGivenUp = false
    }

    private let output: FileDescriptor
    private let hasEscapes: Bool
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "squall.live-line")

    init(output: FileDescriptor, hasEscapes: Bool) {
        self.output = output
        self.hasEscapes = hasEscapes
    }

    /// Queues the live lines.
    func draw(_ lines: [String], terminalColumns columns: Int) {
        change { state in
            state.wanted = lines
            guard lines != state.shown || columns != state.columns || state.dropped > 0 else { return }
            queue([], &state, columns)
        }
    }

    /// Queues permanent lines, above the live ones.
    func print(_ lines: [String], terminalColumns columns: Int) {
        change { state in
            if !queue(lines, &state, columns) { state.dropped += lines.count }
        }
    }

    /// Takes the lines on the terminal for somebody else's.
    func forget() {
        state.withLock { ($0.wanted, $0.shown) = ([], []) }
    }

    /// Waits until the queue is written, or writing has failed. Doesn't wait for a terminal that was given up.
    func flush() {
        guard state.withLock({ !$0.isGivenUp }) else { return }
        queue.sync { write() }
    }

    /// Waits at most `patience` until the queue is written.
    func flush(within patience: Duration) {
        let written = DispatchSemaphore(value: 0)
        queue.async { [self] in
            write()
            written.signal()
        }
        let limit = DispatchTime.now() + .nanoseconds(Int(patience.nanoseconds))
        if written.wait(timeout: limit) == .timedOut { state.withLock { $0.isGivenUp = true } }
    }

    /// Appends what replaces the live lines by `permanent` ones and the wanted ones; `false` when the queue is full.
    @discardableResult
    private func queue(_ permanent: [String], _ state: inout State, _ columns: Int) -> Bool {
        var lines: [String] = []
        if state.dropped > 0 { lines.append("… and \(state.dropped) line\(state.dropped == 1 ? "" : "s") more") }
        lines += permanent
        let text = replacing(state.shown, by: lines, state.wanted, columns)
        guard state.waiting.utf8.count + text.utf8.count <= LiveLine.limit else { return false }
        state.waiting += text
        (state.dropped, state.shown, state.columns) = (0, state.wanted, columns)
        return true
    }

    /// The text that overwrites the lines `before` by `permanent` lines and the live lines `after`. The cursor stays at the
    /// end of the last live line.
    private func replacing(_ before: [String], by permanent: [String], _ after: [String], _ columns: Int) -> String {
        guard hasEscapes else { return replacing(before.last ?? "", by: permanent, after.last ?? "") }
        let end = "\u{1B}[K"
        let heights = before.map { max(1, (TerminalText.width($0) + columns - 1) / max(1, columns)) }
        let height = heights.reduce(0, +)
        let clears = height > 0
        let up = height > 1 ? "\u{1B}[\(height - 1)A" : ""
        let above = permanent.map { $0 + (clears ? end : "") + "\n" }.joined()
        let below = after.map { $0 + end }.joined(separator: "\n")
        guard height <= max(1, permanent.count + after.count) else { return "\r" + up + above + below + "\u{1B}[J" }
        let isFresh = before.isEmpty && !permanent.isEmpty
        let rest = clears && after.isEmpty ? (permanent.isEmpty ? "" : "\r") + end : ""
        return (isFresh ? "" : "\r" + up) + above + below + rest
    }

    /// The same with blanks, for single lines.
    private func replacing(_ before: String, by permanent: [String], _ after: String) -> String {
        var text = ""
        var rest = before
        for line in permanent {
            text += (rest.isEmpty ? "" : "\r") + line + blanks(over: rest, line) + "\n"
            rest = ""
        }
        if permanent.isEmpty { text += "\r" }
        return text + after + blanks(over: rest, after) + (after.isEmpty && !rest.isEmpty ? "\r" : "")
    }

    private func blanks(over before: String, _ after: String) -> String {
        String(repeating: " ", count: max(0, before.count - after.count))
    }

    private func change(_ body: (inout State) -> Void) {
        let isFirst = state.withLock { state in
            let wasEmpty = state.waiting.isEmpty
            body(&state)
            return wasEmpty && !state.waiting.isEmpty
        }
        if isFirst { queue.async { [self] in write() } }
    }

    private func write() {
        let text = state.withLock { state in
            defer { state.waiting = "" }
            return state.waiting
        }
        // Errors of a closed terminal can't be reported.
        if !text.isEmpty { _ = try? output.writeAll(text.utf8) }
    }
}
