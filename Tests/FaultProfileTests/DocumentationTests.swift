import Testing

@testable import FaultProfile
@testable import ProfileDocuments

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

    private func text(_ path: String) throws -> String {
        String(decoding: try Repository.bytes(of: path), as: UTF8.self)
    }

    private func shipped() throws -> [ProfilePages.ShippedProfile] {
        try Repository.shippedProfiles.map { name in
            let source = ProfileSource(file: name, bytes: try Repository.bytes(of: "Profiles/\(name).json"))
            let profile = try ProfileReader.profile(from: source, resolving: shippedTrace)
            return ProfilePages.ShippedProfile(name: profile.name, summary: profile.summary)
        }
    }

    @Test func `what make docs makes of the code is what the files have`() throws {
        #expect(try ProfileSchema.text == text("Profiles/profile.schema.json"))
        #expect(try ProfileSchema.presetsText == text("Profiles/presets.schema.json"))
        #expect(try ProfilePages.profiles(page, shipped: shipped()) == page)
    }

    @Test func `every table of keys and the list of limits have their place on a page`() throws {
        for kind in FaultKind.Name.allCases {
            #expect(page.contains("<!-- made by make docs: keys of \(kind.rawValue) -->"))
        }
        for name in ["profile", "proxy", "phase", "every fault", "condition", "duty", "httpCondition"] {
            #expect(page.contains("<!-- made by make docs: keys of \(name) -->"), "\(name)")
        }
        #expect(page.contains("<!-- made by make docs: limits of profiles -->"))
    }

    @Test func `a page gets the section of a kind and the row of a profile that it lacks`() throws {
        let start = try #require(page.firstRange(of: "\n### Kind `stall`\n"))
        let end = try #require(page[start.upperBound...].firstRange(of: "\n### "))
        var lacking = page
        lacking.removeSubrange(start.lowerBound..<end.lowerBound)
        lacking = lacking.replacing(/\| `elevator` \|[^\n]*\n/, with: "")
        let made = try ProfilePages.profiles(lacking, shipped: shipped())
        #expect(made.contains("\n### Kind `stall`\n\nBytes up to an offset pass"))
        #expect(made.contains("\n| `for` | duration above zero | required | how long the next byte waits |\n"))
        #expect(made.contains("\n{ \"name\": \"stall\", \"faults\": [ \(Stall.example) ] }\n"))
        #expect(made.contains("\n| `elevator` | Taking the elevator"))
    }

    @Test(arguments: FaultKind.Name.allCases.map(\.rawValue))
    func `every kind has an example that is read and written back`(word: String) throws {
        let name = try #require(FaultKind.Name(rawValue: word))
        #expect(problems(fault: name.example) == [])
    }

    @Test func `every key of a profile says what it means`() {
        for shape in ObjectShape.objects + FaultKind.Name.allCases.map(\.shape) {
            for key in shape.keys { #expect(!key.text.isEmpty, "\(key.name) of \(shape.title)") }
        }
    }

    @Test func `every limit of profiles is in the list`() throws {
        let names = Set(ProfileLimits.rows.flatMap(\.names).map { $0.replacing("ProfileLimits.", with: "") })
        let source = try text("Sources/FaultProfile/Reading/Limits.swift")
        let declared = source.matches(of: /public static let (\w+)/).map { String($0.output.1) }
        #expect(declared.count > 20)
        for name in declared { #expect(names.contains(name), "\(name)") }
    }

    @Test func `every example is a profile`() {
        let blocks = page.split(separator: "```json\n").dropFirst().map { block in
            block.split(separator: "```", maxSplits: 1)[0]
        }
        #expect(blocks.count >= FaultKind.Name.allCases.count + 3)
        for block in blocks { #expect(problems(String(block)) == [], "\(block)") }
    }

    @Test func `every key has its row in the section of its object`() throws {
        var objects: [(heading: String, shape: ObjectShape)] = [
            ("The profile", .profile), ("Proxies", .proxy), ("Phases", .phase), ("When", .condition),
        ]
        for kind in FaultKind.Name.allCases { objects.append(("Kind `\(kind.rawValue)`", kind.shape)) }
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
