import Foundation
import Testing

/// The formats of `squall check` for programs.
@Suite(.timeLimit(.minutes(5))) struct CheckFormatTests {
    /// A problem as `--format json` has it.
    private struct Found: Decodable, Equatable {
        let file: String
        let line: Int?
        let column: Int?
        let path: String?
        let message: String
        let suggestion: String
        let code: String
    }

    private static let profile = """
        { "name": "x", "faults": [
          { "kind": "latency", "delay": 5, "a/b~c": 1 },
          { "kind": "rst" } ] }
        """

    /// Checks two files, one of them not JSON, and a profile that isn't there.
    private func checked(_ format: String) async throws -> Outcome {
        try await withFolder { folder in
            try Data(CheckFormatTests.profile.utf8).write(to: folder.appendingPathComponent("a, 100%:b.json"))
            try Data("{ \"name\": ".utf8).write(to: folder.appendingPathComponent("bad.json"))
            return try await squall(
                words: "check \("./a, 100%:b.json") bad.json zzzz slow-3g --format \(format)",
                folder: folder
            )
        }
    }

    @Test func `json is a list of objects, with a pointer to each place`() async throws {
        let outcome = try await checked("json")
        #expect(outcome.status == 2)
        #expect(outcome.errors.isEmpty)
        let found = try JSONDecoder().decode([Found].self, from: Data(outcome.output.utf8))
        #expect(found.map(\.code) == ["invalid-value", "unknown-key", "unknown-value", "syntax", "not-found"])
        #expect(found.map(\.path) == ["/faults/0/delay", "/faults/0/a~1b~0c", "/faults/1/kind", nil, nil])
        #expect(found.map(\.line) == [2, 2, 3, 1, nil])
        #expect(found.map(\.column) == [33, 36, 13, 11, nil])
        #expect(found.map(\.file).suffix(2) == ["bad.json", "zzzz"])
        #expect(found.first?.message == "“5” has no unit")
        #expect(found.first?.suggestion == "write “5 ms” or “5 s”")
    }

    @Test func `github is a workflow command for each problem, with escaped properties`() async throws {
        let outcome = try await checked("github")
        #expect(outcome.status == 2)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.lines.count == 5)
        let start = "::error file=a%2C 100%25%3Ab.json,line=2,col=33,title=invalid-value::“5” has no unit (write "
        #expect(outcome.lines.first?.hasPrefix(start) == true)
        #expect(outcome.lines.last?.hasPrefix("::error file=zzzz,title=not-found::there is no profile “zzzz”") == true)
    }

    @Test func `sarif is a log of version 2_1_0 with a result for each problem`() async throws {
        let outcome = try await checked("sarif")
        #expect(outcome.status == 2)
        #expect(outcome.errors.isEmpty)
        let log = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
        #expect(log["version"] as? String == "2.1.0")
        let run = try #require((log["runs"] as? [[String: Any]])?.first)
        // Without it a viewer counts UTF-16 units.
        #expect(run["columnKind"] as? String == "unicodeCodePoints")
        let driver = try #require((run["tool"] as? [String: [String: Any]])?["driver"])
        let rules = try #require(driver["rules"] as? [[String: Any]]).compactMap { $0["id"] as? String }
        let results = try #require(run["results"] as? [[String: Any]])
        #expect(results.count == 5)
        #expect(results.allSatisfy { rules.contains($0["ruleId"] as? String ?? "") })
        let places = results.compactMap { ($0["locations"] as? [[String: [String: [String: Any]]]])?.first }
            .compactMap { $0["physicalLocation"] }
        #expect(places.count == 5)
        #expect(places.first?["artifactLocation"]?["uri"] as? String == "a%2C%20100%25%3Ab.json")
        #expect(places.first?["region"]?["startLine"] as? Int == 2)
        #expect(places.first?["region"]?["startColumn"] as? Int == 33)
        #expect(places.last?["region"] == nil)
    }

    @Test(arguments: ["json", "github", "sarif"])
    func `a profile without problems has none in any format`(format: String) async throws {
        let outcome = try await squall("check", "slow-3g", "--format", format)
        #expect(outcome.status == 0)
        #expect(outcome.errors.isEmpty)
        switch format {
        case "json": #expect(outcome.output == "[]\n")
        case "github": #expect(outcome.output.isEmpty)
        default: #expect(outcome.output.contains("\"results\":[]"))
        }
    }

    @Test func `a profile outside of Profiles may name its schema by a URL`() async throws {
        try await withFolder { folder in
            let url = "https://raw.githubusercontent.com/OWNER/squall/main/Profiles/profile.schema.json"
            let profile = "{ \"$schema\": \"\(url)\", \"name\": \"x\" }"
            try Data(profile.utf8).write(to: folder.appendingPathComponent("x.json"))
            let outcome = try await squall("check", "x.json", folder: folder)
            #expect(outcome.status == 0)
            #expect(outcome.errors.isEmpty)
        }
    }

    @Test(arguments: Repository.files(in: "Profiles", ending: ".schema.json"))
    func `a schema refers to itself and to its neighbours alone, so it works by any URL`(path: String) throws {
        let text = try Repository.text(path)
        let references = text.matches(of: #/"\$(?:ref|id)": "([^"#]*)/#).map { String($0.output.1) }
        #expect(!references.isEmpty)
        for file in Set(references) where !file.isEmpty { #expect(Repository.has("Profiles/\(file)"), "\(file)") }
    }

    @Test(arguments: [
        ("text", "warning: the phase “b” has no rate"), ("json", #""code":"doubtful""#),
        ("github", "::warning file=p.json,line=4,col=3,title=doubtful::"), ("sarif", #""level":"warning""#),
    ])
    func `a warning is in every format, and leaves the exit code 0`(format: String, text: String) async throws {
        let rate = #"{ "kind": "bandwidth", "rate": "1 Mbit/s" }"#
        let profile = """
            { "name": "p", "phases": [
              { "name": "a", "for": "1 s", "faults": [ \(rate) ] },

              { "name": "b", "for": "1 s" },
              { "name": "c", "for": "1 s", "faults": [ \(rate) ] } ] }
            """
        try await withFolder { folder in
            try Data(profile.utf8).write(to: folder.appendingPathComponent("p.json"))
            let outcome = try await squall("check", "p.json", "--format", format, folder: folder)
            #expect(outcome.status == 0)
            #expect((format == "text" ? outcome.errors : outcome.output).contains(text), "\(outcome)")
            #expect(format != "text" || outcome.output == "p.json: fine (2 faults, 3 phases; 1 warning)\n")
        }
    }
}
