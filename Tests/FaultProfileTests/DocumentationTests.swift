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
        let index = try text("docs/faults.md")
        #expect(ProfilePages.faults(index) == index)
        for kind in ProfilePages.kinds {
            let own = try text("docs/faults/\(kind).md")
            #expect(ProfilePages.fault(kind, own) == own)
        }
    }

    @Test func `every table of keys and the list of limits have their place on a page`() throws {
        for kind in ProfilePages.kinds {
            #expect(try text("docs/faults/\(kind).md").contains("<!-- made by make docs: keys of \(kind) -->"))
        }
        #expect(try text("docs/faults.md").contains("<!-- made by make docs: kinds of faults -->"))
        for name in ["profile", "proxy", "phase", "every fault", "condition", "duty", "httpCondition"] {
            #expect(page.contains("<!-- made by make docs: keys of \(name) -->"), "\(name)")
        }
        #expect(page.contains("<!-- made by make docs: limits of profiles -->"))
    }

    @Test func `a kind without a page gets one, and the page of profiles the row of a profile that it lacks`() throws {
        let lacking = page.replacing(/\| `elevator` \|[^\n]*\n/, with: "")
        #expect(try ProfilePages.profiles(lacking, shipped: shipped()).contains("\n| `elevator` | Taking the elevator"))
        let made = ProfilePages.fault("slow-reader", nil)
        #expect(made.hasPrefix("# Slow reader\n\nBytes are taken from the sender slowly"))
        #expect(made.contains("\n| `rate` | rate above zero | required | the rate at which bytes are taken"))
        #expect(made.contains("\n{ \"name\": \"slow-reader\", \"faults\": [ \(SlowReader.example) ] }\n"))
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

    @Test func `every example is a profile`() throws {
        let pages = try [page] + ProfilePages.kinds.map { try text("docs/faults/\($0).md") }
        let blocks = pages.flatMap { page in
            page.split(separator: "```json\n").dropFirst().map { $0.split(separator: "```", maxSplits: 1)[0] }
        }
        #expect(blocks.count >= FaultKind.Name.allCases.count + 3)
        for block in blocks { #expect(problems(String(block)) == [], "\(block)") }
    }

    @Test func `every key has its row in the section of its object`() throws {
        let objects: [(heading: String, shape: ObjectShape)] = [
            ("The profile", .profile), ("Proxies", .proxy), ("Phases", .phase), ("When", .condition),
        ]
        for (heading, shape) in objects {
            let section = try #require(sections[heading], "no section \(heading)")
            let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
            for key in shape.keys {
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
