import EventLoop
import Foundation
import Synchronization

/// One line at the bottom of a terminal that is drawn again and again, and lines that stay above it.
/// Where standard error isn't a terminal it does nothing.
final class LiveLine: Sendable {
    /// Whether anything is shown.
    let isOn = Console.isTerminal
    private let current = Mutex("")

    /// Draws `text` in place of the line before, cut to the terminal's width.
    func draw(_ text: String) {
        guard isOn else { return }
        current.withLock { line in
            // Asked each time: windows change their size.
            line = String(text.prefix(max(20, (Terminal.columnsOfStandardError() ?? 80) - 1)))
            write("\r\(line)\u{1B}[K")
        }
    }

    /// Puts a line that stays above the live one.
    func tell(_ text: String) {
        guard isOn else { return }
        current.withLock { line in write("\r\(text)\u{1B}[K\n\(line)") }
    }

    /// Takes the live line away.
    func clear() {
        guard isOn else { return }
        current.withLock { line in
            line = ""
            write("\r\u{1B}[K")
        }
    }

    private func write(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
