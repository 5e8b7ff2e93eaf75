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

    /// Draws on standard error, unless it is told another file and to show all of it.
    init(output: FileHandle = .standardError, isOn: Bool = Console.isTerminal) {
        self.isOn = isOn
        screen = Screen(output: output)
    }

    deinit {
        // What is told next on standard error, perhaps an error, comes behind it.
        if isOn { screen.flush() }
    }

    /// Draws `text` in place of the line before, cut to the terminal's width.
    func draw(_ text: String) {
        guard isOn else { return }
        // Asked each time: windows change their size.
        screen.draw(String(text.visibleLine.prefix(max(20, (Terminal.columnsOfStandardError() ?? 80) - 1))))
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
        /// What waits to be written.
        var waiting = ""
        /// The lines that were dropped since one was told.
        var untold = 0
    }

    private let output: FileHandle
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "squall.live-line")

    init(output: FileHandle) {
        self.output = output
    }

    /// Queues the live line.
    func draw(_ line: String) {
        change { state in
            state.line = line
            Screen.queue(Screen.missing(state) + "\r\(line)\u{1B}[K", &state)
        }
    }

    /// Queues a line that stays.
    func tell(_ text: String) {
        change { state in
            let isQueued = Screen.queue(Screen.missing(state) + "\r\(text)\u{1B}[K\n\(state.line)", &state)
            if !isQueued { state.untold += 1 }
        }
    }

    /// Waits until everything queued has been written, or has failed to be.
    func flush() {
        queue.sync { write() }
    }

    /// A line in the place of those that were dropped.
    private static func missing(_ state: State) -> String {
        state.untold > 0 ? "\r… and \(state.untold) line\(state.untold == 1 ? "" : "s") more\u{1B}[K\n" : ""
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
