import Dispatch
import EventLoop
import Synchronization
import SystemPackage
import Units

/// A line at the bottom of a terminal that is redrawn, with permanent lines above. Does nothing if standard error isn't
/// a terminal.
///
/// Writes on its own queue, so callers such as event loops never wait for a slow terminal.
final class LiveLine: Sendable {
    /// The maximum number of queued bytes; beyond it redraws are dropped and lines are counted.
    static let limit = 64 << 10

    /// Whether anything is shown.
    let isOn: Bool
    private let screen: Screen

    /// Draws on the descriptor `output`, by default standard error. Without `hasEscapes` it uses only carriage returns and spaces.
    init(
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

    /// Replaces the live line by `text`, truncated to the terminal's width.
    func draw(_ text: String) {
        guard isOn else { return }
        screen.draw(String(text.visibleLine.prefix(TerminalAbilities.columns)))
    }

    /// Replaces the live line by the line of `bar` for `progress`.
    func draw(_ progress: ProgressSnapshot, _ bar: ProgressBar) {
        guard isOn else { return }
        screen.draw(bar.line(progress, columns: TerminalAbilities.columns))
    }

    /// Prints a permanent line above the live one.
    func print(_ text: String) {
        guard isOn else { return }
        screen.print(text.visibleLine)
    }

    /// Removes the live line and waits until everything is written.
    func clear() {
        guard isOn else { return }
        screen.flush()
        screen.draw("")
        screen.flush()
    }
}

/// The output queue of a terminal.
private final class Screen: Sendable {
    private struct State {
        var line = ""
        /// Whether the current line was queued.
        var isLineQueued = true
        /// The queued text.
        var waiting = ""
        /// The number of lines dropped since the last printed one.
        var dropped = 0
    }

    private let output: FileDescriptor
    private let hasEscapes: Bool
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "squall.live-line")

    init(output: FileDescriptor, hasEscapes: Bool) {
        self.output = output
        self.hasEscapes = hasEscapes
    }

    /// Queues the live line.
    func draw(_ line: String) {
        change { state in
            guard line != state.line || !state.isLineQueued else { return }
            let before = state.line
            state.line = line
            state.isLineQueued = Screen.queue(missing(state) + replacing(before, line), &state)
        }
    }

    /// Queues a permanent line.
    func print(_ text: String) {
        change { state in
            let lines = replacing(state.line, text) + "\n\(state.line)"
            let isQueued = Screen.queue(missing(state) + lines, &state)
            if !isQueued { state.dropped += 1 }
        }
    }

    /// Waits until the queue is written, or writing has failed.
    func flush() {
        queue.sync { write() }
    }

    /// A line that replaces the dropped ones.
    private func missing(_ state: State) -> String {
        guard state.dropped > 0 else { return "" }
        return replacing(state.line, "… and \(state.dropped) line\(state.dropped == 1 ? "" : "s") more") + "\n"
    }

    /// Overwrites the line `before` completely with `text`.
    private func replacing(_ before: String, _ text: String) -> String {
        if hasEscapes { return "\r\(text)\u{1B}[K" }
        let blanks = String(repeating: " ", count: max(0, before.count - text.count))
        return "\r\(text)\(blanks)" + (text.isEmpty ? "\r" : "")
    }

    /// Appends `text` to the queue; `false` when it is full.
    @discardableResult
    private static func queue(_ text: String, _ state: inout State) -> Bool {
        guard state.waiting.utf8.count + text.utf8.count <= LiveLine.limit else { return false }
        state.waiting += text
        state.dropped = 0
        return true
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
