import Foundation
import ProfileDocuments

/// Writes the schema of profiles, and the tables of pages that are made from the code. `make docs` runs it at the top of
/// the repository.
@main enum ProfileDocumentsCommand {
    static func main() throws {
        try Data(ProfileSchema.text.utf8).write(to: URL(filePath: "Profiles/profile.schema.json"))
        try Data(ProfileSchema.presetsText.utf8).write(to: URL(filePath: "Profiles/presets.schema.json"))
        let shipped = try shippedProfiles()
        try rewrite("docs/profiles.md") { ProfilePages.profiles($0 ?? "", shipped: shipped) }
        try rewrite("docs/faults.md") { ProfilePages.faults($0 ?? "") }
        for kind in ProfilePages.kinds { try rewrite("docs/faults/\(kind).md") { ProfilePages.fault(kind, $0) } }
    }

    private static func shippedProfiles() throws -> [ProfilePages.ShippedProfile] {
        let files = try FileManager.default.contentsOfDirectory(atPath: "Profiles")
        return try files.filter { $0.hasSuffix(".json") && !$0.hasSuffix(".schema.json") }.sorted().map { file in
            let data = try Data(contentsOf: URL(filePath: "Profiles/\(file)"))
            let summary = try JSONDecoder().decode(Summary.self, from: data)
            return ProfilePages.ShippedProfile(name: summary.name, summary: summary.summary)
        }
    }

    private struct Summary: Decodable {
        let name: String
        let summary: String
    }

    private static func rewrite(_ file: String, _ change: (String?) -> String) throws {
        let url = URL(filePath: file)
        let page = FileManager.default.fileExists(atPath: file) ? try String(contentsOf: url, encoding: .utf8) : nil
        let changed = change(page)
        if changed != page { try Data(changed.utf8).write(to: url) }
    }
}
