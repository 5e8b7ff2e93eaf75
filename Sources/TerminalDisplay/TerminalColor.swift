/// A color of text on a terminal, from the basic ones, which follow the terminal's theme.
package enum TerminalColor: Int, Hashable {
    // The parameters of SGR (ECMA-48, section 8.3.117).
    case faint = 2
    case red = 31
    case green = 32
    case yellow = 33
    case cyan = 36

    /// `text` in this color.
    package func paint(_ text: String) -> String {
        text.isEmpty ? text : "\u{1B}[\(rawValue)m\(text)\u{1B}[m"
    }
}
