import Dispatch
import EventLoop
import Foundation
import Synchronization
import Units

/// One line at the bottom of a terminal that is drawn again and again, and lines that stay above it.
/// Where standard error isn't a terminal it does nothing.
///
/// A queue of its own writes: who draws, an event loop among them, never waits for a terminal that stands still.
final class LiveLine: Sendable {
    /// The bytes that wait to be written at most; beyond it redraws are dropped, and lines are counted.
    static let limit = 64 << 10

    /// Whether anything is shown.
    let isOn: Bool
    private let screen: Screen

    /// Draws on standard error by default. Without `hasEscapes` the terminal is sent
    /// carriage returns and blanks alone.
    init(
        output: FileHandle = .standardError,
        isOn: Bool = Console.isTerminal,
        hasEscapes: Bool = TerminalAbilities.ofProcess.hasEscapes
    ) {
        self.isOn = isOn
        screen = Screen(output: output, hasEscapes: hasEscapes)
    }

    deinit {
        // What is told next on standard error, perhaps an error, comes behind it.
        if isOn { screen.flush() }
    }

    /// Draws `text` in place of the line before, cut to the terminal's width.
    func draw(_ text: String) {
        guard isOn else { return }
        screen.draw(String(text.visibleLine.prefix(TerminalAbilities.columns)))
    }

    /// Draws the line that `bar` makes of `progress` in place of the line before.
    func draw(_ progress: ProgressSnapshot, _ bar: ProgressBar) {
        guard isOn else { return }
        screen.draw(bar.line(progress, columns: TerminalAbilities.columns))
    }

    /// Puts a line that stays above the live one.
    func tell(_ text: String) {
        guard isOn else { return }
        screen.tell(text.visibleLine)
    }

    /// Takes the live line away, and waits until all of it has been written.
    func clear() {
        guard isOn else { return }
        screen.flush()
        screen.draw("")
        screen.flush()
    }
}

/// What is on its way to a terminal.
private final class Screen: Sendable {
    private struct State {
        var line = ""
        /// Whether it was queued.
        var isLineQueued = true
        /// What waits to be written.
        var waiting = ""
        /// The lines that were dropped since one was told.
        var untold = 0
    }

    private let output: FileHandle
    private let hasEscapes: Bool
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "squall.live-line")

    init(output: FileHandle, hasEscapes: Bool) {
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

    /// Queues a line that stays.
    func tell(_ text: String) {
        change { state in
            let lines = replacing(state.line, text) + "\n\(state.line)"
            let isQueued = Screen.queue(missing(state) + lines, &state)
            if !isQueued { state.untold += 1 }
        }
    }

    /// Waits until everything queued has been written, or has failed to be.
    func flush() {
        queue.sync { write() }
    }

    /// A line in the place of those that were dropped.
    private func missing(_ state: State) -> String {
        guard state.untold > 0 else { return "" }
        return replacing(state.line, "… and \(state.untold) line\(state.untold == 1 ? "" : "s") more") + "\n"
    }

    /// What writes `text` over the line `before`, and nothing of that stays.
    private func replacing(_ before: String, _ text: String) -> String {
        if hasEscapes { return "\r\(text)\u{1B}[K" }
        let blanks = String(repeating: " ", count: max(0, before.count - text.count))
        return "\r\(text)\(blanks)" + (text.isEmpty ? "\r" : "")
    }

    /// Puts `text` behind what waits; `false` when that would be too much.
    @discardableResult
    private static func queue(_ text: String, _ state: inout State) -> Bool {
        guard state.waiting.utf8.count + text.utf8.count <= LiveLine.limit else { return false }
        state.waiting += text
        state.untold = 0
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
        // Where a terminal that has gone is told something, nobody is left to hear of it.
        if !text.isEmpty { try? output.write(contentsOf: Data(text.utf8)) }
    }
}
