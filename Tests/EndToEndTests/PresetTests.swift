import Foundation
import Testing

/// Finding and listing presets.
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
        #expect(titles.first == "Profiles")
        for title in [
            "Apple Network Link Conditioner", "WebPageTest", "comcast", "Wi-Fi, as measured",
            "Wi-Fi, engineering defaults",
        ] {
            #expect(titles.contains(title))
        }
        #expect(!titles.contains("Others"), "every preset begins with its tool")
        for line in list.lines where line.hasPrefix("  ") {
            #expect(line.split(separator: " ").count > 3, "what \(line) feels like")
            #expect(line.count <= 140)
        }
    }

    @Test func `every preset is fine, by its name and with its file`() async throws {
        #expect(Repository.presets.count == 135)
        let paths = Repository.presetFiles.map { Repository.root.appendingPathComponent($0).path }
        for references in [Repository.presets, paths] {
            let outcome = try await squall(["check"] + references)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.lines.count == references.count)
        }
        let one = try await squall("check", paths[0])
        #expect(one.lines.first?.hasSuffix(": fine (6 presets)") == true, "\(one.output)")
    }

    @Test func `a file of presets that has problems has each with its line, wherever it is asked for`() async throws {
        try await withFolder { folder in
            let presets = folder.appendingPathComponent("presets")
            try FileManager.default.createDirectory(at: presets, withIntermediateDirectories: false)
            let file = """
                { "title": "Our networks", "sauce": "measured",
                  "presets": {
                    "our-lift": { "summary": "The lift", "faults": [ { "kind": "latency", "delay": "1" } ] },
                    "our-yard": { "summary": "The yard", "source": "a walk" } } }
                """
            try Data(file.utf8).write(to: presets.appendingPathComponent("ours.json"))
            try Data(#"{ "name": "alone" }"#.utf8).write(to: folder.appendingPathComponent("alone.json"))
            let own = #"{ "name": "single", "summary": "A file of its own" }"#
            try Data(own.utf8).write(to: presets.appendingPathComponent("single.json"))
            let environment = ["SQUALL_PROFILES": folder.path]
            let path = presets.appendingPathComponent("ours.json").path
            let check = try await squall("check", path, environment: environment)
            #expect(check.status == 2)
            #expect(check.errors.contains("ours.json:1:28: a file of presets has no key “sauce” (write “source”)"))
            #expect(check.errors.contains("ours.json:3:84: “1” has no unit"))
            #expect(check.errors.split(separator: "\n").count == 2, "\(check.errors)")
            let run = try await squall("check", "our-lift", environment: environment)
            #expect(run.status == 2)
            #expect(run.errors.contains("ours.json:3:84: “1” has no unit"))
            let list = try await squall("profiles", environment: environment)
            #expect(list.lines.contains("Our networks"))
            #expect(list.lines.contains("  our-lift  has problems, see squall check our-lift"))
            #expect(list.lines.contains("  single  A file of its own"))
            try Data(#"{ "presets": { "our-shed": {"#.utf8).write(to: presets.appendingPathComponent("shed.json"))
            let broken = try await squall("check", "our-shed", environment: environment)
            #expect(broken.errors.contains("shed.json:1:28: the object that begins here never ends"))
            let whole = try await squall("check", "ours", environment: environment)
            #expect(whole.status == 2, "a file's own name stands for all of its presets")
        }
    }

    @Test func `a mistyped preset is told with the one that it may have meant`() async throws {
        let outcome = try await squall("check", "wpt-cabel")
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("did you mean “wpt-cable”?"))
    }

    @Test(arguments: ["wifi-campus", "wifi-crowded", "wifi-far"])
    func `a file arrives through a Wi-Fi whose retries are delays`(name: String) async throws {
        let demo = try await squall("demo", name, "--size", "100KiB", "--seed", "1")
        #expect(demo.status == 0)
        #expect(demo.output.contains("equal: the file arrived byte for byte"))
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
