import Testing
import Units

/// Colors of drawings.
@Suite struct ColorSchemeTests {
    private let scheme = ColorScheme([("ink", "#000001", "#fffffe"), ("paper", "#ffffff", "#000000")])

    @Test func `literal rules have light colors, and dark ones as overrides of the same rules alone`() {
        let rules = """
            .a { fill: var(--ink); stroke-width: 2; } .b { fill: none; }
            .c, .d { stroke: var(--paper); fill: var(--ink); }
            """
        #expect(
            scheme.literal(rules) == """
                .a { fill: #000001; stroke-width: 2; } .b { fill: none; }
                .c, .d { stroke: #ffffff; fill: #000001; }
                @media screen and (prefers-color-scheme: dark) {
                .a { fill: #fffffe;}
                .c, .d { stroke: #000000; fill: #fffffe;}
                }
                """
        )
    }

    @Test func `rules without a color need no overrides`() {
        #expect(scheme.literal(".a { fill: none; }") == ".a { fill: none; }")
    }

    @Test func `a browser gets the colors as variables`() {
        #expect(
            scheme.variables(of: ":root") == """
                :root { --ink: #000001; --paper: #ffffff; }
                @media screen and (prefers-color-scheme: dark) { :root { --ink: #fffffe; --paper: #000000; } }
                """
        )
    }
}
