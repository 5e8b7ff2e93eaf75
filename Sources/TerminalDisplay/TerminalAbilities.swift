import FoundationEssentials
import OperatingSystem

/// The capabilities of the terminal, from the environment.
package struct TerminalAbilities: Hashable {
    /// Whether it supports escape sequences: `TERM` isn't `dumb`.
    package var hasEscapes: Bool
    /// Whether to use colors: escapes are supported, and `NO_COLOR` isn't set (no-color.org).
    package var hasColors: Bool
    /// Whether to use non-ASCII characters: the locale is UTF-8, and the terminal isn't `dumb`.
    package var hasUnicode: Bool
    /// Whether text in a file or a pipe may have non-ASCII characters: no other locale than one of UTF-8 is set.
    package var writesUnicode: Bool

    /// Reads an environment.
    init(environment: [String: String]) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        hasEscapes = value("TERM") != "dumb"
        hasColors = hasEscapes && value("NO_COLOR") == nil
        // The first one set applies (locale(7)).
        let locale = (value("LC_ALL") ?? value("LC_CTYPE") ?? value("LANG"))?.lowercased()
        let isUnicode = locale.map { $0.contains("utf-8") || $0.contains("utf8") }
        hasUnicode = hasEscapes && isUnicode ?? false
        writesUnicode = isUnicode ?? true
    }

    /// The capabilities from the process environment.
    package static let ofProcess = TerminalAbilities(environment: ProcessInfo.processInfo.environment)

    /// The assumed width of a terminal of unknown width.
    package static let usualColumns = 80
    /// The minimum width of a drawing, even on a narrower terminal.
    static let minimumColumns = 20

    /// The assumed height of a terminal of unknown height.
    static let usualRows = 24

    /// The height of the terminal; queried each time.
    package static var rows: Int { Terminal.rowsOfStandardError() ?? usualRows }

    /// The columns before the last one, where terminals wrap; queried each time, since windows can be resized.
    package static var columns: Int {
        max(minimumColumns, Terminal.columnsOfStandardError() ?? usualColumns) - 1
    }
}
