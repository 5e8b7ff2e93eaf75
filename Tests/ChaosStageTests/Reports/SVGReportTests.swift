import ChaosStage
import TestStreams
import Testing
import Units

/// The picture of a run.
struct SVGReportTests {
    private func document(_ run: RunReport) -> ParsedXML { ParsedXML(SVGReport.text(of: run)) }

    @Test func `every picture is well-formed, and has a title and a description`() {
        let runs = SampleReports.matrix.runs + [SampleReports.hour(seed: 1), SampleReports.hostileRun]
        for run in runs {
            let document = document(run)
            #expect(document.problem == nil)
            let root = document.elements[0]
            #expect(root.attributes["role"] == "img" && root.attributes["aria-labelledby"] == "title description")
            #expect(document["desc"].count == 1 && document["script"].isEmpty && document["image"].isEmpty)
            let text = SVGReport.text(of: run)
            #expect(!text.contains(" src=\"") && !text.contains("url(") && !text.contains("@import"))
            #expect(text.matches(of: #/href="([^"]*)"/#).allSatisfy { $0.1.hasPrefix("#") })
        }
    }

    @Test func `the areas hold the bytes of the run`() throws {
        var run = SampleReports.idle
        for (index, bytes) in [1_000_000, 0, 500_000, 0].enumerated() {
            run.timeline.add(.init(time: .seconds(index + 1), upstream: 0, downstream: Int64(bytes)))
        }
        run.timeline.duration = .seconds(4)
        let paths = document(run)["path"].filter { $0.attributes["class"] == "down" }
        #expect(paths.count == 1)
        #expect(
            document(run)["path"].allSatisfy { $0.attributes["class"] != "up" },
            "a direction without bytes has no area"
        )
        // The highest is 8 below the top, and half the bytes have half the height.
        #expect(paths[0].attributes["d"] == "M0 176V8H250V176H500V92H750V176H1000V176")
    }

    @Test func `the short rest at the end doesn't set the scale`() throws {
        var run = SampleReports.idle
        for index in 1...10 { run.timeline.add(.init(time: .seconds(index), upstream: 0, downstream: 1_000_000)) }
        run.timeline.add(.init(time: .milliseconds(10_001), upstream: 0, downstream: 100_000))
        let path = try #require(document(run)["path"].first { $0.attributes["class"] == "down" })
        #expect(path.attributes["d"]?.hasPrefix("M0 176V23") == true, "\(path)")
    }

    @Test func `the legend has what is in the picture, and nothing else`() {
        let known = [
            "down, to the client", "up, to the server", "fault", "resumption", "in the room", "at the door", "gone",
            "back",
        ]
        func legend(_ run: RunReport) -> Set<String> { Set(document(run)["text"].map(\.text)).intersection(known) }
        #expect(legend(SampleReports.idle).isEmpty)
        #expect(legend(SampleReports.walk(seed: 1)).count == 8)
        #expect(!legend(SampleReports.walk(seed: 1, reasons: ["x"])).contains("resumption"))
        #expect(!legend(SampleReports.services(seed: 1)).contains("gone"))
    }

    @Test func `marks that would cover each other share a sign, whose tooltip counts them`() {
        var run = SampleReports.idle
        run.timeline.duration = .seconds(100)
        for index in 0..<7 {
            run.timeline.add(Timeline.Mark(time: .milliseconds(index), kind: .fault, text: "f\(index)"))
        }
        run.timeline.add(Timeline.Mark(time: .seconds(50), kind: .fault, text: "alone"))
        let document = document(run)
        #expect(document["use"].count { $0.attributes["y"] == nil } == 2)
        let tips = document["title"].map(\.text)
        #expect(tips.contains("7 faults:\n0.000 s: f0\n0.001 s: f1\n0.002 s: f2\n0.003 s: f3\n0.004 s: f4\nand 2 more"))
        #expect(tips.contains("50.000 s: alone"))
    }

    @Test(arguments: [
        (1_000.0, "0.2 kbit/s"), (2_500.0, "0.5 kbit/s"), (8e6, "2 Mbit/s"), (40e6, "10 Mbit/s"), (1e9, "0.2 Gbit/s"),
        (7, "2 bit/s"),
    ])
    func `the ticks of rates are round`(bitsPerSecond: Double, first: String) {
        var run = SampleReports.idle
        run.timeline.add(.init(time: .seconds(8), upstream: 0, downstream: Int64(bitsPerSecond)))
        #expect(document(run)["text"].contains { $0.text == first })
    }

    @Test func `names that have no room are cut, and none is drawn in a sliver`() {
        var run = SampleReports.idle
        run.timeline.duration = .seconds(100)
        let name = String(repeating: "congested ", count: 20)
        run.timeline.add(Timeline.Phase(proxy: "p", name: name, start: .zero, end: .seconds(50)))
        run.timeline.add(Timeline.Phase(proxy: "p", name: "sliver", start: .seconds(50), end: .seconds(51)))
        let names = document(run)["text"].filter { $0.attributes["class"] == "middle name" }.map(\.text)
        #expect(names.count == 1 && names[0].hasPrefix("congested congested") && names[0].hasSuffix("…"))
        #expect(names[0].count < 70)
    }

    @Test func `a run without time is a picture all the same`() {
        let document = document(SampleReports.idle)
        #expect(document.problem == nil)
        #expect(document["text"].contains { $0.text == "no byte passed" })
    }
}
