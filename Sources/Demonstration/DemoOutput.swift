import OperatingSystem
import TerminalDisplay

/// The permanent output of the demo: as it is in a pipe or a file, fitted to the width and colored on the terminal that also
/// shows the transfer.
struct DemoOutput {
    /// Whether standard output and standard error are one terminal.
    let isTerminal = Terminal.isShared

    private var columns: Int { TerminalAbilities.columns }

    /// Prints a line, broken between words on a terminal; a proof is green there.
    func show(_ line: String, isProof: Bool = false) {
        guard isTerminal else { return Console.print(line) }
        let lines = TerminalText.wrapped(line.visibleLine, to: columns)
        let isGreen = isProof && TerminalAbilities.ofProcess.hasColors
        show(drawing: lines.map { isGreen ? TerminalColor.green.paint($0) : $0 })
    }

    /// Prints lines that fit and may have colors.
    func show(drawing lines: [String]) {
        Console.pass(Array(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// Prints the end of a transfer.
    func show(_ summary: DemoSummary) {
        guard isTerminal else { return Console.print(lines: summary.text) }
        show(drawing: summary.lines(columns: columns, .ofProcess))
    }

    /// Prints a warning, broken between words on a terminal.
    func warn(_ message: String) {
        Console.warn(lines: fitted(.failed(message)).lines)
    }

    /// A failure whose text is broken between words on a terminal.
    func fitted(_ failure: CommandFailure) -> CommandFailure {
        isTerminal ? failure.wrapped(to: columns) : failure
    }
}
