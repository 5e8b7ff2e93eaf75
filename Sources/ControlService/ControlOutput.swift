import FaultProfile
import FoundationEssentials
import TerminalDisplay
import Units

/// Rows of cells: aligned columns with headings for a terminal, else lines with a tab after each cell but the last.
package struct ControlTable {
    private let headings: [String]
    package var rows: [[String]]

    /// A table without rows.
    package init(headings: [String], rows: [[String]] = []) { (self.headings, self.rows) = (headings, rows) }

    /// The text, each line with its end.
    package func text(isTerminal: Bool) -> String {
        let rows = self.rows.map { $0.map(\.visibleLine) }
        guard isTerminal else { return rows.map { $0.joined(separator: "\t") + "\n" }.joined() }
        let all = [headings] + rows
        let widths = headings.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            var line = ""
            for (cell, width) in zip(row, widths) {
                line += cell + String(repeating: " ", count: width - cell.count + 2)
            }
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }
}

/// Prints the results of `squall ctl`.
package enum ControlOutput {
    /// Whether standard output is a terminal.
    package static var isTerminal: Bool { Console.isOutputTerminal }

    /// Prints the rows, or on a terminal `nothing` if there are none.
    package static func show(_ table: ControlTable, orElse nothing: String) {
        if isTerminal, table.rows.isEmpty { return Console.print(nothing) }
        write(table.text(isTerminal: isTerminal))
    }

    /// Prints the JSON of a response.
    package static func show(_ response: ControlClient.Response) {
        guard !response.body.isEmpty else { return }
        write(String(decoding: response.body, as: UTF8.self))
    }

    /// Says on standard error how many open connections of the proxies in a response the faults of HTTP messages don't reach.
    package static func tellUnreached(_ response: ControlClient.Response) {
        guard let node = try? response.json() else { return }
        let proxies = node["proxies"]?.elements ?? [node]
        func sum(_ key: String) -> Int {
            proxies.reduce(0) { min($0, .max / 2) + min($1["connections"]?[key]?.count ?? 0, .max / 2) }
        }
        Console.warnUnreached(joining: sum("joining"), unread: sum("unread"))
    }

    /// Prints lines as they are, escaped on a terminal.
    package static func write(_ lines: String) {
        var text = lines[...]
        while text.last?.isNewline == true { text.removeLast() }
        if !text.isEmpty { Console.print(file: String(text)) }
    }

    /// A number as Toxiproxy's command prints it, by `%v` of Go: `1000`, but `1e+06` from a million on.
    package static func goText(_ number: Double) -> String {
        // The fewest digits from which the same number is read back, in Swift as in Go.
        let text = "\(number)"
        if number == 0 || (1e-4..<1e6).contains(number.magnitude) || !number.isFinite {
            return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }
        let parts = "\(number.magnitude)".split(separator: "e")
        let digits = parts[0].split(separator: ".").map(String.init)
        let (whole, fraction) = (digits[0], digits.count > 1 ? digits[1] : "")
        var significant = Array(whole + fraction)
        var exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) + whole.count - 1
        while significant.first == "0" {
            significant.removeFirst()
            exponent -= 1
        }
        while significant.last == "0" { significant.removeLast() }
        let rest = significant.dropFirst()
        let power = "\(exponent.magnitude)"
        return (number < 0 ? "-" : "") + String(significant.prefix(1)) + (rest.isEmpty ? "" : ".\(String(rest))")
            + (exponent < 0 ? "e-" : "e+") + (power.count < 2 ? "0" : "") + power
    }
}
