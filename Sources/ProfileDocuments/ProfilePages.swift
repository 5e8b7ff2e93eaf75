import FaultProfile

/// The parts of pages that are made from the code: tables between two comments, and what is missing of kinds and profiles.
///
/// A part begins with a line `<!-- made by make docs: NAME -->` and ends with a line `<!-- end -->`.
public enum ProfilePages {
    /// A shipped profile, as a page lists it.
    public struct ShippedProfile: Sendable {
        let name: String
        let summary: String

        /// Makes a row.
        public init(name: String, summary: String) {
            self.name = name
            self.summary = summary
        }
    }

    /// The page of profiles with its tables of keys and its list of limits as they are in the code, a section for every kind
    /// and a row for every shipped profile.
    public static func profiles(_ page: String, shipped: [ShippedProfile]) -> String {
        var page = page
        for kind in FaultKind.Name.allCases where !page.contains("\n### Kind `\(kind.rawValue)`\n") {
            page = page.replacing("\n## Extending a profile\n", with: section(of: kind) + "\n## Extending a profile\n")
        }
        return withRows(filled(page, tables), shipped)
    }

    /// The page with a row for each shipped profile; rows that are there stay as they are.
    private static func withRows(_ page: String, _ shipped: [ShippedProfile]) -> String {
        var lines = page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let known = Set(shipped.map { "| `\($0.name)` |" })
        func isRow(_ line: String) -> Bool { known.contains { line.hasPrefix($0) } }
        for profile in shipped {
            let start = "| `\(profile.name)` |"
            guard !lines.contains(where: { $0.hasPrefix(start) }), let first = lines.firstIndex(where: isRow) else {
                continue
            }
            var index = first
            while index < lines.count, isRow(lines[index]), lines[index] < start { index += 1 }
            lines.insert("\(start) \(profile.summary) |", at: index)
        }
        return lines.joined(separator: "\n")
    }

    /// A section of a kind, for a person to go on with.
    private static func section(of kind: FaultKind.Name) -> String {
        """

        ### Kind `\(kind.rawValue)`

        \(kind.shape.summary)

        \(begin("keys of \(kind.rawValue)"))
        \(end)

        ```json
        { "name": "\(kind.rawValue)", "faults": [ \(kind.example) ] }
        ```

        """
    }

    private static let common: Set = ["kind", "name", "stream", "when"]

    /// The tables of keys and the list of limits, by the names of their parts.
    private static var tables: [String: String] {
        var tables: [String: String] = [:]
        for shape in ObjectShape.objects { tables["keys of \(shape.definition)"] = table(shape.keys) }
        let kinds = FaultKind.Name.allCases
        for kind in kinds {
            tables["keys of \(kind.rawValue)"] = table(kind.shape.keys.filter { !common.contains($0.name) })
        }
        if let kind = kinds.first {
            tables["keys of every fault"] = table(kind.shape.keys.filter { common.contains($0.name) })
        }
        let limits = ProfileLimits.rows.map { "- \($0.text): \($0.values.joined(separator: "; "))" }
        tables["limits of profiles"] = limits.joined(separator: "\n")
        return tables
    }

    private static func table(_ keys: [KeyShape]) -> String {
        let rows = keys.map { key in
            let fallback = key.isRequired ? " required " : key.fallback.isEmpty ? " " : " \(key.fallback) "
            return "| `\(key.name)` | \(key.form.words) |\(fallback)| \(key.text) |"
        }
        return (["| key | value | default | |", "|---|---|---|---|"] + rows).joined(separator: "\n")
    }

    private static func begin(_ name: String) -> String { "<!-- made by make docs: \(name) -->" }

    private static let end = "<!-- end -->"

    private static func filled(_ page: String, _ parts: [String: String]) -> String {
        var page = page
        for (name, text) in parts {
            guard let start = page.firstRange(of: begin(name) + "\n"),
                let close = page[start.upperBound...].firstRange(of: end)
            else { continue }
            page.replaceSubrange(start.upperBound..<close.lowerBound, with: text + "\n")
        }
        return page
    }
}
