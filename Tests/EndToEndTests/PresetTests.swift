import Foundation
import Testing

/// The presets, as the command finds and lists them.
@Suite(.timeLimit(.minutes(5))) struct PresetTests {
    @Test func `the list has the scenarios first, then every preset under its tool, each with what it feels like`()
        async throws
    {
        let list = try await squall("profiles")
        #expect(list.status == 0)
        let names = list.lines.filter { $0.hasPrefix("  ") }.compactMap {
            $0.split(separator: " ").first.map(String.init)
        }
        #expect(Array(names.prefix(Repository.profiles.count)) == Repository.profiles.sorted())
        #expect(Set(names) == Set(Repository.profiles + Repository.presets))
        #expect(names.count == Set(names).count)
        let titles = list.lines.filter { !$0.hasPrefix(" ") }
        #expect(titles.first == "Scenarios")
        for title in ["Apple Network Link Conditioner", "WebPageTest", "comcast", "Wi-Fi, engineering defaults"] {
            #expect(titles.contains(title))
        }
        #expect(!titles.contains("Others"), "every preset begins with its tool")
        for line in list.lines where line.hasPrefix("  ") {
            #expect(line.split(separator: " ").count > 3, "what \(line) feels like")
            #expect(line.count <= 140)
        }
    }

    @Test func `every preset is fine, by its name and by its path`() async throws {
        let paths = Repository.presets.map {
            Repository.root.appendingPathComponent("Profiles/presets/\($0).json").path
        }
        for references in [Repository.presets, paths] {
            let outcome = try await withChild(Programs.squall, ["check"] + references) { await $0.finish() }
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.lines.count == references.count)
        }
    }

    @Test func `a mistyped preset is told with the one that it may have meant`() async throws {
        let outcome = try await squall("check", "wpt-cabel")
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("did you mean “wpt-cable”?"))
    }

    @Test func `a preset is run, printed and extended by its name`() async throws {
        let demo = try await squall("demo", "wpt-cable", "--size", "200KiB", "--seed", "1")
        #expect(demo.status == 0)
        #expect(demo.output.contains("equal: the file arrived byte for byte"))
        let printed = try await squall("profiles", "nlc-3g")
        #expect(printed.output.contains("\"source\": \"Apple's Network Link Conditioner"))
        try await withFolder { folder in
            let own = #"{ "name": "own", "extends": "atc-3g-good", "faults": [ { "kind": "cut", "at": "1 MB" } ] }"#
            try Data(own.utf8).write(to: folder.appendingPathComponent("own.json"))
            let outcome = try await squall("check", "own.json", folder: folder)
            #expect(outcome.output == "own.json: fine (5 faults, no phases)\n")
        }
    }
}
