extension HTMLReport {
    static let style: String = {
        // The labels that have no room in a narrow plot.
        let narrow = TimelinePicture.widths.enumerated().dropFirst().map { index, width in
            "@container plot (max-width: \((width - 0.02).short)px) { .c\(index) { display: none; } }"
                + " @container plot (min-width: \(width.short)px) { .n\(index) { display: none; } }"
        }
        return """
            :root { color-scheme: light dark;
            --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; }
            \(ReportStyle.colors.variables(of: ":root"))
            \(page)
            \(table)
            \(matrix)
            \(run)
            \(ReportStyle.picture)
            \(narrow.joined(separator: "\n"))
            @container plot (max-width: 539.98px) { .many line { display: none; }
            .many use { transform: scale(.6, .9); } .dense use { transform: scale(.3, .8); }
            .down, .up { stroke-width: 1; } }
            \(print)
            """
    }()

    private static let page = """
        * { box-sizing: border-box; }
        body { margin: 0 auto; padding: 2rem 1.25rem 3rem; max-width: 74rem;
        background: var(--ground); color: var(--ink);
        font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
        font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
        h1, h2, h3, p, ul, dl, dd, figure, pre { margin: 0; padding: 0; }
        ul { list-style: none; }
        a { color: var(--accent); text-underline-offset: .15em; }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .25rem; }
        code, pre { font-family: var(--mono); font-size: .875rem; }
        pre { padding: .7rem .9rem; border-radius: .5rem; background: var(--raised); white-space: pre-wrap;
        tab-size: 4; }
        header { display: grid; gap: .9rem; margin-bottom: 2rem; }
        .brand { display: flex; align-items: center; gap: .45rem; color: var(--quiet); font-size: .875rem;
        font-weight: 600; }
        .brand svg { width: 1.3rem; height: 1.3rem; fill: none; stroke: var(--accent); stroke-width: 2.4;
        stroke-linecap: round; }
        h1 { font-size: clamp(1.5rem, 4vw, 2.2rem); line-height: 1.2; letter-spacing: -.02em; }
        .verdict { justify-self: start; padding: .3rem .9rem; border-radius: 2rem; font-weight: 650; }
        .verdict.good, .badge.good { background: #17774a; color: #fff; }
        .verdict.bad, .badge.bad { background: #c8202f; color: #fff; }
        .badge.idle { background: #5b6470; color: #fff; }
        .facts { display: flex; flex-wrap: wrap; gap: .35rem 1.75rem; color: var(--quiet); font-size: .875rem; }
        .facts div { display: flex; flex-wrap: wrap; gap: .15rem .45rem; } .facts dt { flex: none; }
        .facts dd { color: var(--ink); font-weight: 600; }
        .facts code { padding: .1rem .45rem; border: 1px solid var(--line); border-radius: .35rem;
        background: var(--surface); font-weight: 400; }
        h2 { font-size: 1.2rem; line-height: 1.3; }
        h3 { margin-bottom: .35rem; color: var(--quiet); font-size: .8125rem; font-weight: 600; }
        .card { margin-bottom: 1.25rem; padding: 1.1rem 1.25rem 1.25rem; border: 1px solid var(--line);
        border-radius: .75rem; background: var(--surface); }
        .left { margin: 0 0 1.25rem; color: var(--quiet); font-size: .875rem; }
        @media (max-width: 40rem) { body { padding: 1.25rem .75rem 2rem; } .card { padding: .9rem .8rem 1rem; } }
        """

    private static let table = """
        table { width: 100%; border-collapse: collapse; font-size: .9rem; }
        th, td { padding: .5rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
        tbody tr:last-child > * { border-bottom: 0; }
        thead th { color: var(--quiet); font-size: .8125rem; font-weight: 600; }
        th:first-child { padding-left: 0; white-space: normal; font-weight: 600; }
        td:last-child, th:last-child { padding-right: 0; }
        th:nth-child(-n+3), td:nth-child(-n+3) { text-align: left; } td:nth-child(3) { white-space: normal; }
        .good { color: var(--green); font-weight: 650; } .bad { color: var(--red); font-weight: 650; }
        .idle { color: var(--quiet); font-weight: 650; }
        @media (max-width: 55rem) {
        table, tbody { display: block; } thead { display: none; }
        tr { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; padding: .6rem 0;
        border-bottom: 1px solid var(--line); }
        tbody tr:last-child { border-bottom: 0; padding-bottom: 0; }
        th, td { padding: 0; border: 0; } tbody th { flex: 1; text-align: left; } td:nth-child(3) { flex-basis: 100%; }
        td:nth-child(n+3) { color: var(--quiet); font-size: .8125rem; }
        td:nth-child(n+5)::before { content: attr(data-label) " "; }
        }
        """

    private static let matrix = """
        .matrix { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .5rem 1rem;
        margin: .6rem 0; }
        .matrix dt { font-weight: 600; line-height: 2rem; } .matrix dd { display: flex; flex-wrap: wrap; gap: 3px; }
        .cell { display: grid; place-items: center; min-width: 2rem; height: 2rem; padding: 0 .3rem;
        border-radius: .35rem; font-size: .75rem; color: #fff; text-decoration: none; }
        .cell.good { background: #17774a; color: #fff; font-weight: 400; }
        .cell.bad { background: #c8202f; color: #fff; font-weight: 700; }
        .cell.idle { background: #5b6470; color: #fff; font-weight: 400; }
        @media (max-width: 40rem) { .matrix { grid-template-columns: minmax(0, 1fr); gap: .15rem; } }
        .table > summary { margin: 0; }
        """

    private static let run = """
        .run { display: grid; gap: .9rem; } .run > * { min-width: 0; }
        .run > header { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem .75rem; margin: 0; }
        .badge { padding: .05rem .65rem; border-radius: 1rem; font-size: .8125rem; font-weight: 650; }
        .figures { color: var(--quiet); font-size: .875rem; }
        .reasons { padding: .6rem .9rem; border-left: 4px solid var(--red); border-radius: .25rem;
        background: var(--raised); }
        .reasons li { font-weight: 600; } .reasons .note { font-weight: 400; }
        .chart { display: grid; grid-template-columns: 74px minmax(0, 1fr); padding-right: .6rem; }
        .chart svg { display: block; width: 100%; overflow: visible; }
        .plot { container: plot / inline-size; }
        figcaption { margin-top: .5rem; color: var(--quiet); font-size: .8125rem; }
        .legend { display: flex; flex-wrap: wrap; gap: .15rem 1.1rem; }
        .legend li { display: flex; align-items: center; gap: .4rem; }
        .legend svg { flex: none; width: 14px; height: 14px; overflow: visible; }
        .signs { position: absolute; width: 0; height: 0; }
        summary { cursor: pointer; color: var(--quiet); font-size: .875rem; }
        details pre { max-height: 32rem; margin-top: .5rem; overflow: auto; font-size: .8125rem; line-height: 1.4; }
        .proxies { display: grid; gap: .1rem; color: var(--quiet); font-size: .875rem; }
        .proxies b { color: var(--ink); font-weight: 600; }
        footer { color: var(--quiet); font-size: .8125rem; }
        """

    private static let print = """
        @media print { body { max-width: none; padding: 0; background: none; font-size: 11pt; }
        .card { break-inside: avoid; } .verdict, .badge, svg, pre, .reasons { print-color-adjust: exact; }
        details pre { max-height: none; } }
        """
}
