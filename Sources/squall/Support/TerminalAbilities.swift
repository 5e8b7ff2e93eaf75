import EventLoop
import Foundation

/// What the terminal of the process shows, by its environment.
struct TerminalAbilities: Hashable {
    /// Whether it knows escape sequences: `TERM` isn't `dumb`.
    var hasEscapes: Bool
    /// Whether text may be colored: the terminal has escapes, and `NO_COLOR` isn't set (no-color.org).
    var hasColors: Bool
    /// Whether it shows more than ASCII: the locale is one of UTF-8, and the terminal isn't `dumb`.
    var hasUnicode: Bool

    /// What `environment` says.
    init(environment: [String: String]) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        hasEscapes = value("TERM") != "dumb"
        hasColors = hasEscapes && value("NO_COLOR") == nil
        // The first that is set counts (locale(7)).
        let locale = (value("LC_ALL") ?? value("LC_CTYPE") ?? value("LANG") ?? "").lowercased()
        hasUnicode = hasEscapes && (locale.contains("utf-8") || locale.contains("utf8"))
    }

    /// What the environment of the process says.
    static let ofProcess = TerminalAbilities(environment: ProcessInfo.processInfo.environment)

    /// The columns that are used of a terminal of unknown width.
    static let usualColumns = 80
    /// The fewest columns of a drawing. Narrower terminals get a drawing of this width.
    static let leastColumns = 20

    /// The columns of a line that doesn't reach the last one, where terminals wrap; asked anew each time, since windows
    /// change their size.
    static var columns: Int {
        max(leastColumns, Terminal.columnsOfStandardError() ?? usualColumns) - 1
    }
}
