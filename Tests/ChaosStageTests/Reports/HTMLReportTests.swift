import ChaosStage
import Testing
import Units

/// The HTML file as text. Tests/System/page/reports.py opens it in a browser.
struct HTMLReportTests {
    /// The runs that have a section.
    private func sections(_ text: String) -> Int { text.matches(of: #/<section class="card run"/#).count }

    @Test func `each run has a row, and a section with its timeline`() {
        let text = HTMLReport.text(of: SampleReports.matrix)
        #expect(text.matches(of: #/<tr role="row"><th role="rowheader"/#).count == 5)
        #expect(sections(text) == 5)
        #expect(text.matches(of: #/<svg [^>]*role="img" aria-labelledby="title-[1-5] desc-[1-5]"/#).count == 4)
        #expect(text.matches(of: /Nothing was recorded over time/).count == 1)
        #expect(text.contains("3 of 5 runs failed"))
        #expect(text.contains("squall test --profile wifi-walkaway --seed 3 "))
    }

    @Test func `the file runs nothing and asks for nothing`() {
        for stage in [SampleReports.matrix, SampleReports.hostileStage] {
            let text = HTMLReport.text(of: stage)
            #expect(!text.contains("<script") && !text.contains("<img") && !text.contains("url("))
            #expect(text.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\""))
            let links = text.matches(of: #/(?:href|src)="([^"]*)"/#).map { String($0.1) }
            #expect(links.allSatisfy { $0.hasPrefix("#") || $0.hasPrefix("data:") })
        }
    }

    @Test func `every reference in the file leads to an element`() {
        let text = HTMLReport.text(of: SampleReports.matrix)
        let ids = text.matches(of: #/ id="([^"]*)"/#).map { String($0.1) }
        #expect(Set(ids).count == ids.count, "an id is given once")
        let targets = text.matches(of: #/ href="#([^"]*)"/#).map { String($0.1) }
        let labels = text.matches(of: #/ aria-labelledby="([^"]*)"/#).flatMap { $0.1.split(separator: " ") }
        #expect(Set(targets + labels.map(String.init)).isSubset(of: ids))
    }

    @Test func `text from outside is text`() {
        let text = HTMLReport.text(of: SampleReports.hostileStage)
        #expect(text.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; &amp; &quot;q&quot;"))
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" && $0 != "\t" })
        #expect(!text.unicodeScalars.contains("\u{202e}"))
        #expect(text.contains(#"\u{1b}[31mred"#))
    }

    @Test func `an hour with a full timeline and full output is below 500 KB`() {
        let text = HTMLReport.text(of: SampleReports.stage([SampleReports.hour(seed: 1)]))
        #expect(text.utf8.count < 500_000, "\(text.utf8.count) bytes")
        #expect(text.contains("100 marks after 49 min "))
    }

    @Test func `with many runs the timelines of those that passed are left out, and the file says so`() {
        let passed = Array(repeating: SampleReports.hour(seed: 1, reasons: []), count: 100)
        let text = HTMLReport.text(of: SampleReports.stage(passed + [SampleReports.hour(seed: 100)]))
        #expect(text.utf8.count < 2_000_000, "\(text.utf8.count) bytes")
        #expect(text.matches(of: #/<tr role="row"><th role="rowheader"/#).count == 101, "each has its row")
        #expect(text.contains("id=\"run-101\""), "the one that failed has its section")
        let left = 101 - sections(text)
        #expect(left > 0 && text.contains("The timelines of \(left) further runs that passed are left out."))
        #expect(text.matches(of: ##/<a href="#run-/##).count == sections(text), "a row links to its section")
        #expect(text.matches(of: /<(a|span) class="cell good"/).count == 100, "each has its square")
    }

    @Test func `a thousand failures have bounded sections`() {
        let failed = Array(repeating: SampleReports.hour(seed: 1), count: 1_200)
        let text = HTMLReport.text(of: SampleReports.stage(failed))
        #expect(text.utf8.count < 8_000_000, "\(text.utf8.count) bytes")
        #expect(text.contains("200 further runs left out."))
        let left = 1_200 - sections(text)
        #expect(text.contains("The timelines of \(Formatting.grouped(Int64(left))) further failed runs are left out."))
    }

    @Test func `a replay line is there as a whole or not at all, with its line feeds`() {
        var run = SampleReports.walk(seed: 1, reasons: ["no"])
        run.replay = "squall test -- sh -c 'a\nb'"
        #expect(HTMLReport.text(of: SampleReports.stage([run])).contains("<pre>squall test -- sh -c 'a\nb'</pre>"))
        run.replay += String(repeating: "x", count: 20_000)
        let text = HTMLReport.text(of: SampleReports.stage([run]))
        #expect(!text.contains("xxx") && text.contains("longer than 16,000 characters; the JUnit report has it"))
    }

    @Test func `a stage without runs is a page that says so`() {
        let text = HTMLReport.text(of: SampleReports.stage([]))
        #expect(text.contains("no run</p>") && !text.contains("<table"))
    }
}
