import FaultPlan
import Forecast
import Testing
import Units

@testable import FaultProfile

/// The picture of a plan, from which the text and the SVG are drawn.
@Suite("The picture of a plan")
struct PlanPictureTests {
    private func picture(_ profile: Profile, bytes: Int64, limit: Duration = .seconds(86_400)) -> PlanPicture {
        let transfer = Transfer(direction: .downstream, bytes: ByteCount(bytes))
        let plan = Plan(profile: profile, seed: 7, proxy: "proxy", start: .zero)
        let forecast = TransferForecast(of: transfer, through: plan, retries: SteadyRetries(), limit: limit)
        return PlanPicture(
            PlanReport(profile: profile, seed: 7, transfer: transfer, client: ClientModel(), forecast: forecast)
        )
    }

    private func picture(_ rules: String, bytes: Int64, limit: Duration = .seconds(86_400)) throws -> PlanPicture {
        let source = ProfileSource(file: "p.json", text: "{ \"name\": \"x\", \(rules) }")
        return picture(try ProfileReader.profile(from: source), bytes: bytes, limit: limit)
    }

    private static let delayed =
        #""faults": [ { "kind": "latency", "delay": "20 ms" }, { "kind": "bandwidth", "rate": "1 MB/s" } ]"#

    // Curves

    @Test
    func `has a wave as it runs`() throws {
        let wave = #"{ "kind": "bandwidth", "wave": { "low": "1 Mbit/s", "high": "8 Mbit/s", "period": "20 s" } }"#
        let columns = try picture("\"faults\": [ \(wave) ]", bytes: 11_250_000).columns(each: .milliseconds(500))
        #expect((40...41).contains(columns.count))
        for (index, column) in columns.dropLast(2).enumerated() {
            let expected = 1e6 + 7e6 * min(Double(index) + 0.5, 39.5 - Double(index)) / 20
            let rate = try #require(column.rate)
            // The bytes of a rate pass together in some milliseconds, so an interval may have more or less.
            #expect(abs(rate - expected) < 0.02 * expected + 40_000, "\(index): \(rate) instead of \(expected)")
        }
    }

    @Test
    func `has the bytes of a transfer, all of them`() throws {
        let columns = try picture(PlanPictureTests.delayed, bytes: 3_333_333).columns(each: .milliseconds(100))
        #expect(abs(columns.reduce(0) { $0 + $1.bytes } - 3_333_333) < 0.01)
    }

    @Test
    func `has the delay of a latency, however late the forecast asks its links`() throws {
        let picture = try picture(PlanPictureTests.delayed, bytes: 300_000_000)
        let delays = picture.columns(each: .milliseconds(500)).compactMap { $0.delay?.mean }
        #expect(delays.count > 590)
        #expect(delays.allSatisfy { $0 >= .milliseconds(20) && $0 < .milliseconds(21) }, "\(delays.max() ?? .zero)")
    }

    @Test
    func `has the delay of a full queue`() throws {
        let picture = picture(try Shipped.profile("bufferbloat"), bytes: 12 << 20)
        // 512 KiB at 12 Mbit/s take 350 ms, and the way 10 ms.
        let delays = picture.columns(each: .milliseconds(100)).dropFirst(10).dropLast(2)
            .compactMap { $0.delay?.mean }
        #expect(delays.count > 60)
        #expect(delays.allSatisfy { abs(Double($0.nanoseconds) / 1e6 - 360) < 15 })
    }

    @Test
    func `covers the rates of a trace, and doesn't cut them at its mean`() throws {
        let picture = picture(try Shipped.profile("cell-edge"), bytes: 12 << 20)
        let highest = picture.columns().compactMap(\.rate).max() ?? 0
        #expect(highest > 5e6)
        #expect(try #require(picture.rates?.rates.last) >= highest)
        #expect(picture.notes.isEmpty)
    }

    @Test
    func `says where a rate is far above all limits and cut off`() throws {
        let rules = """
            "phases": [ { "name": "a", "for": "100 ms" }, { "name": "b", "for": "1 h",
              "faults": [ { "kind": "bandwidth", "rate": "1 kB/s" } ] } ]
            """
        let picture = try picture(rules, bytes: 1 << 44, limit: .seconds(5))
        #expect(picture.notes.contains { $0.hasPrefix("rates above ") && $0.hasSuffix(" at most") }, "\(picture.notes)")
    }

    // Marks

    @Test
    func `has many cuts as a band with their number, and single ones as they are`() throws {
        let rate = #"{ "kind": "bandwidth", "rate": "1 MB/s" }"#
        let fence = try picture(
            "\"faults\": [ \(rate), { \"kind\": \"cut\", \"stream\": \"downstream\", \"at\": \"100 KB\" } ]",
            bytes: 6_400_000
        )
        let band = try #require(fence.marks.first { $0.kind == .lost })
        #expect(fence.marks.count { $0.kind == .lost } == 1)
        #expect(band.count > 60 && band.label == "\(band.count)×")
        #expect(band.tip.hasSuffix("and \(band.count - 5) more"))
        let pair = try picture(
            "\"faults\": [ \(rate), { \"kind\": \"cut\", \"stream\": \"downstream\", \"at\": [\"1 MB\", \"2 MB\"] } ]",
            bytes: 6_000_000
        )
        #expect(pair.marks.allSatisfy { $0.label == nil })
    }

    @Test
    func `gives each of a few faults a row, and shows the delay of every connection that is cut`() throws {
        let faults = """
            "faults": [
                { "kind": "http", "name": "overloaded", "answer": { "status": 503 }, "when": { "connection": 1 } },
                { "kind": "stall", "name": "slow", "stream": "downstream", "at": "0 B", "of": "message", "for": "200 ms" },
                { "kind": "cut", "every": "256 KiB", "of": "resource", "stream": "downstream" } ]
            """
        let picture = try picture(faults, bytes: 2 << 20)
        #expect(picture.rows.map(\.label) == ["lost", "overloaded", "slow"])
        #expect(picture.legend.suffix(3) == [.mark(.lost), .mark(.fault), .delay])
        let text = PlanText(picture, width: 80).text
        #expect(text.contains("\noverloaded  ◆") && text.contains("\n      slow  "), "\(text)")
        // From the answer that is at once to the first that is slow the line rises.
        let delays = picture.columns().filter { $0.begin >= .zero + .milliseconds(250) }.compactMap(\.delay?.mean)
        #expect(!delays.isEmpty && delays.allSatisfy { $0 == .milliseconds(200) }, "\(delays)")
    }

    @Test
    func `marks the end of a transfer that no rate shows, and a connection that hangs`() throws {
        let hang = #"{ "kind": "connect", "how": "hang", "when": { "connection": 1, "age": "..2 s" } }"#
        let picture = try picture("\"faults\": [ \(hang) ]", bytes: 1_000)
        #expect(picture.rows.map(\.label) == ["refused", "done"])
        #expect(picture.marks.last?.tip == "2.0 s: the transfer is complete")
        #expect(PlanText(picture, width: 80).text.contains("● the transfer is complete"))
    }

    @Test
    func `marks what a journal tells`() throws {
        let profile = try ProfileReader.profile(
            from: ProfileSource(
                file: "p.json",
                text: #"{ "name": "x", "phases": [ { "name": "a", "for": "4 s" }, { "name": "b", "for": "4 s" } ] }"#
            )
        )
        let words = ["delays", "limits", "resets", "stalls", "refuses", "closes"]
        let events = words.enumerated().map { index, word in
            PlanRecording.Event(
                moment: .zero + .seconds(index),
                connection: word == "refuses" ? nil : UInt64(index / 3 + 1),
                fault: "f",
                offset: word == "resets" ? 65_536 : nil,
                what: word
            )
        }
        let recording = PlanRecording(
            profile: profile,
            heading: "h",
            seed: 7,
            direction: .downstream,
            events: events,
            note: "n"
        )
        let picture = PlanPicture(recording)
        #expect(picture.marks.map(\.kind) == [.lost, .lost, .refused, .fault])
        #expect(picture.marks[0].tip == "2.0 s: connection 1: f resets at 65,536")
        #expect(picture.span == .seconds(8) && picture.notes.count == 1)
        #expect(picture.legend == [.mark(.lost), .mark(.refused), .mark(.fault)])
        #expect(picture.figures.first { $0.label == "faults" }?.lines.first == "6")
        #expect(PlanText(picture, width: 80).text.contains("recorded     5.0 s to the last event"))
    }

    // Legends, names and labels

    @Test
    func `has a legend with what is there, and nothing else`() throws {
        let rate = #"{ "kind": "bandwidth", "rate": "1 MB/s" }"#
        #expect(try picture("\"faults\": [ \(rate) ]", bytes: 1_000_000).legend == [.arrives, .capacity])
        #expect(try picture(PlanPictureTests.delayed, bytes: 1_000_000).legend == [.arrives, .capacity, .delay])
        let outage = #"{ "kind": "outage", "how": "refuse" }"#
        #expect(
            try picture("\"faults\": [ \(outage) ]", bytes: 1_000).legend == [.outage(.refuse), .mark(.refused)]
        )
        let phases = """
            "faults": [ \(rate) ], "phases": [ { "name": "a", "for": "1 s" },
              { "name": "b", "for": "1 s", "faults": [ { "kind": "outage", "how": "silence" } ] }, { "name": "c" } ]
            """
        #expect(try picture(phases, bytes: 3_000_000).legend == [.arrives, .capacity, .outage(.silence)])
    }

    @Test
    func `keeps the name of each phase, if only in the list below it`() throws {
        let picture = picture(try Shipped.profile("wifi-roam"), bytes: 64 << 20)
        let lines = PlanText(picture, width: 100).text.split(separator: "\n").map(String.init)
        let names = try #require(lines.first { $0.contains("│first access point") })
        #expect(names.contains("│second access point") && !names.contains("handover") && !names.contains("…"))
        let keys = try #require(lines.first { $0.split(separator: " ").first == "2" })
        #expect(keys.split(separator: " ").prefix(2) == ["2", "4"], "\(keys)")
        for key in ["2  quick handover, 80 ms: outage", "4  slow handover, 1.5 s: outage"] {
            #expect(lines.contains { $0.hasPrefix(key) }, "\(key)")
        }
        let drawing = PlanSVG(picture).text
        #expect(drawing.contains(">2</text>") && drawing.contains(">2 quick handover, 80 ms: outage"))
    }

    @Test(arguments: Shipped.names)
    func `is drawn alike as text, in ASCII and as SVG, and no line is wider than asked for`(name: String) throws {
        let picture = picture(try Shipped.profile(name), bytes: 8 << 20, limit: .seconds(120))
        let drawing = PlanSVG(picture).text
        for width in [60, 80, 200] {
            let text = PlanText(picture, width: width).text
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.allSatisfy { $0.count <= width && $0.last != " " }, "\(width)")
            let plain = PlanText(picture, width: width, glyphs: .ascii).text
            #expect(plain.unicodeScalars.allSatisfy(\.isASCII) && !plain.contains("?"), "\(plain)")
            let plainLines = plain.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(plainLines.allSatisfy { $0.count <= width && $0.last != " " }, "\(width)")
            func ticks(_ lines: [Substring]) -> Int { lines.count { $0.contains(/^ *[0-9.]+( [a-zA-Zµ\/]+)? [+┤┼]/) } }
            #expect(ticks(plainLines) == ticks(lines) && ticks(lines) > 0 || picture.rates == nil)
            for rate in picture.rates?.rates ?? [] {
                let label = try #require(picture.rates?.text(rate))
                #expect(text.contains("\(label) ┤") && drawing.contains(">\(label)</text>"), "\(label)")
            }
            for item in picture.legend where item != .delay {
                #expect(text.contains(" \(item.text)"), "\(item.text)")
            }
        }
        for item in picture.legend { #expect(drawing.contains(">\(item.text)</text>"), "\(item.text)") }
        for mark in picture.marks {
            if let label = mark.label { #expect(drawing.contains(">\(label)</text>")) }
        }
    }

    @Test
    func `names a trace by its file, without the folder`() throws {
        let folder = "/a/long/way/to/the/recordings"
        let trace = Trace(file: "\(folder)/train.trace", opportunities: [1, 2, 3])
        let fault = Fault(name: "train", kind: .trace(trace))
        let phases = [
            Phase(name: "ride", duration: .seconds(1), faults: [fault]),
            Phase(name: "stop", duration: nil, faults: []),
        ]
        for profile in [Profile(name: "x", faults: [fault]), Profile(name: "x", phases: phases)] {
            let picture = picture(profile, bytes: 1_000)
            for text in [PlanText(picture, width: 100).text, PlanSVG(picture).text] {
                #expect(!text.contains(folder))
            }
            #expect(PlanText(picture, width: 100).text.contains("trace train.trace, queue 256 KiB"))
        }
    }

    @Test
    func `has a chart whose blocks are the rates of its columns`() throws {
        let picture = picture(try Shipped.profile("busy-cell"), bytes: 12 << 20)
        let lines = PlanText(picture, width: 80).text.split(separator: "\n").map(Array.init)
        let top = try #require(picture.rates?.rates.last)
        let last = try #require(lines.firstIndex { $0.contains("┼") })
        let first = try #require(lines.firstIndex { $0.contains("┤") })
        let edge = try #require(lines[last].firstIndex(of: "┼"))
        let blocks = Array(" ▁▂▃▄▅▆▇█")
        let columns = picture.columns(lines[last].count - edge - 1)
        for (index, column) in columns.enumerated() {
            let eighths = lines[first..<last].reduce(0) { sum, line in
                let place = edge + 1 + index
                return sum + (place < line.count ? blocks.firstIndex(of: line[place]) ?? 0 : 0)
            }
            let drawn = Double(eighths) / Double((last - first) * 8) * top
            let rate = column.rate ?? 0
            #expect(abs(drawn - rate) <= top / Double((last - first) * 16) + 1, "\(index): \(drawn), not \(rate)")
        }
    }
}
