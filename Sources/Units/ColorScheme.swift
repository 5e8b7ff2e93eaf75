/// The colors of a drawing, by name, for light and for dark screens.
package struct ColorScheme: Sendable {
    /// The query of style sheets for readers who prefer a dark screen; paper is light.
    package static let darkQuery = "@media screen and (prefers-color-scheme: dark)"

    /// A color: its name, and its values as style sheets have them.
    package typealias Color = (name: String, light: String, dark: String)

    package let colors: [Color]

    /// Makes a scheme of colors with different names.
    package init(_ colors: [Color]) { self.colors = colors }

    /// The colors as custom properties of `root`, for browsers.
    package func variables(of root: String) -> String {
        func block(_ value: (Color) -> String) -> String {
            "\(root) { \(colors.map { "--\($0.name): \(value($0));" }.joined(separator: " ")) }"
        }
        return "\(block { $0.light })\n\(ColorScheme.darkQuery) { \(block { $0.dark }) }"
    }

    /// Style rules whose colors are written as `var(--name)`, with literal values in their place, since few programs other
    /// than browsers know custom properties. Those of dark screens follow as overrides.
    ///
    /// - Parameter rules: rules without comments, braces in values and nesting.
    package func literal(_ rules: String) -> String {
        let overrides = rules.split(separator: "}").compactMap { rule -> String? in
            let parts = rule.split(separator: "{", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            let colored = parts[1].split(separator: ";").filter { $0.contains("var(--") }
            guard !colored.isEmpty else { return nil }
            return "\(parts[0].trimmed) {\(colored.joined(separator: ";"));}"
        }
        let light = filled(rules) { $0.light }
        guard !overrides.isEmpty else { return light }
        let dark = filled(overrides.joined(separator: "\n")) { $0.dark }
        return "\(light)\n\(ColorScheme.darkQuery) {\n\(dark)\n}"
    }

    private func filled(_ rules: String, _ value: (Color) -> String) -> String {
        colors.reduce(rules) { $0.replacing("var(--\($1.name))", with: value($1)) }
    }
}
