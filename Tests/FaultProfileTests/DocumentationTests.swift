import Testing

@testable import FaultProfile

@Suite struct DocumentationTests {
    private let page: String

    init() throws {
        page = String(decoding: try Repository.bytes(of: "docs/profiles.md"), as: UTF8.self)
    }

    /// The sections of the page by their headings, without the marks of their level.
    private var sections: [String: String] {
        var sections: [String: String] = [:]
        var heading = ""
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("#") {
                heading = String(line.drop { $0 == "#" || $0 == " " })
            } else {
                sections[heading, default: ""] += line + "\n"
            }
        }
        return sections
    }

    @Test func `every example is a profile`() {
        let blocks = page.split(separator: "```json\n").dropFirst().map { block in
            block.split(separator: "```", maxSplits: 1)[0]
        }
        #expect(blocks.count == 9)
        for block in blocks { #expect(problems(String(block)) == [], "\(block)") }
    }

    @Test func `every key has its row in the section of its object`() throws {
        var objects: [(heading: String, shape: ObjectShape)] = [
            ("The profile", .profile), ("Proxies", .proxy), ("Phases", .phase), ("When", .condition),
        ]
        for kind in FaultKind.Name.allCases { objects.append(("Kind `\(kind.rawValue)`", .fault(kind))) }
        for (heading, shape) in objects {
            let section = try #require(sections[heading], "no section \(heading)")
            let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
            for key in shape.keys where !(heading.hasPrefix("Kind") && commonKeys.contains(key.name)) {
                let row = rows.first { $0.hasPrefix("| `\(key.name)` |") }
                #expect(row != nil, "\(key.name) in \(heading)")
                if key.isRequired { #expect(row?.contains("| required |") == true, "\(key.name) in \(heading)") }
            }
        }
        let common = try #require(sections["Faults"])
        for key in commonKeys { #expect(common.contains("\n| `\(key)` |"), "\(key)") }
    }

    private let commonKeys = ["kind", "name", "stream", "when"]

    @Test func `every shipped profile has its row`() throws {
        let section = try #require(sections["The shipped profiles"])
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(rows.count == Repository.shippedProfiles.count)
        for name in Repository.shippedProfiles { #expect(rows.contains { $0.hasPrefix("| `\(name)` |") }, "\(name)") }
    }
}
