import Units

/// The colors of the reports, those of the page of `squall serve`, and the signs of the pictures.
enum ReportStyle {
    static let phaseColors = 6

    /// The colors, light and dark.
    static let colors = ColorScheme([
        ("ground", "#f3f5f8", "#0d1319"), ("surface", "#ffffff", "#161e26"), ("raised", "#f0f3f6", "#202a34"),
        ("line", "#dde3e9", "#2a3642"), ("ink", "#15202b", "#e9eef3"), ("quiet", "#56636f", "#9aa8b5"),
        ("accent", "#08749b", "#4fc3ea"), ("upward", "#6b7884", "#c3ced8"), ("red", "#c8202f", "#ff6b6b"),
        ("green", "#17774a", "#5fd39a"), ("grid", "#e3e4e6", "#343b44"), ("p0", "#3b7ddd", "#5d9bff"),
        ("p1", "#e0a100", "#f2c14e"), ("p2", "#8a5cd6", "#b48cff"), ("p3", "#1e9e6a", "#4fd6a0"),
        ("p4", "#d9662b", "#ff9d6b"), ("p5", "#6b7a88", "#a9b7c5"),
    ])

    /// The rules of a picture's elements.
    static let picture: String = {
        let phases = (0..<phaseColors).map { ".p\($0) { fill: var(--p\($0)); }" }.joined(separator: " ")
        return """
            text { font: \(TimelinePicture.Size.font.short)px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
            fill: var(--ink); font-variant-numeric: tabular-nums; }
            .faint { fill: var(--quiet); } .end { text-anchor: end; } .middle { text-anchor: middle; }
            .name { pointer-events: none; } .grid { stroke: var(--grid); } .axis { stroke: var(--quiet); }
            \(phases)
            .lane { fill-opacity: .38; stroke: var(--surface); } .lane.thin { stroke: none; } .band { fill-opacity: .1; }
            .down, .up { fill-opacity: .3; stroke-width: 1.6; stroke-linejoin: round;
            vector-effect: non-scaling-stroke; }
            .down { fill: var(--accent); stroke: var(--accent); } .up { fill: var(--upward); stroke: var(--upward); }
            .column { fill: none; pointer-events: all; } .column:hover { fill: var(--ink); fill-opacity: .12; }
            .fault { fill: var(--red); stroke: var(--red); } .resumption { fill: var(--green); stroke: var(--green); }
            .hole { fill: var(--surface); stroke: none; } g svg { overflow: visible; } .dense use { transform: scale(.6, .9); }
            .fault line { stroke-opacity: .55; } .resumption line { stroke-opacity: .7; stroke-dasharray: 3 3; }
            """
    }()

    static let signs = """
        <defs><path id="fault" d="M0-6L6 0 0 6-6 0Z" stroke="none"/>\
        <g id="resumption"><circle r="5.5" stroke="none"/>\
        <path class="hole" d="M-1.6-2.8 2.8 0-1.6 2.8Z"/></g></defs>
        """

    /// An item of a legend as an SVG of 14 by 14, or its content.
    static func key(_ name: String) -> String {
        if Timeline.Mark.Kind(rawValue: name) != nil {
            return "<use class=\"\(name)\" href=\"#\(name)\" x=\"7\" y=\"7\"/>"
        }
        let kind = name.hasPrefix("p") ? "lane \(name)" : name
        return "<rect class=\"\(kind)\" x=\"1\" y=\"2\" width=\"12\" height=\"10\"/>"
    }
}
