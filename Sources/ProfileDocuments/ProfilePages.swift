import FaultProfile

/// The parts of pages that are made from the code: tables between two comments, and missing pages of kinds and rows of profiles.
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

    /// The page of profiles with its tables of keys and its list of limits as they are in the code, and a row for every
    /// shipped profile.
    public static func profiles(_ page: String, shipped: [ShippedProfile]) -> String {
        withRows(filled(page, tables), shipped)
    }

    /// The page that lists the kinds of faults.
    public static func faults(_ page: String) -> String {
        let rows = FaultKind.Name.allCases.map { kind in
            "| [`\(kind.rawValue)`](faults/\(kind.rawValue).md) | \(kind.shape.summary) |"
        }
        return filled(page, ["kinds of faults": (["| kind | |", "|---|---|"] + rows).joined(separator: "\n")])
    }

    /// The kinds of faults; each has a page of its name.
    public static var kinds: [String] { FaultKind.Name.allCases.map(\.rawValue) }

    /// The page of a kind, with its table of keys as it is in the code; a new page for a person to go on with where there is none.
    public static func fault(_ kind: String, _ page: String?) -> String {
        guard let kind = FaultKind.Name(rawValue: kind) else { return page ?? "" }
        // A table links the page of profiles from a folder below it.
        let parts = tables.mapValues { $0.replacing("](#", with: "](../profiles.md#") }
        return filled(page ?? newPage(of: kind), parts)
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

    private static func newPage(of kind: FaultKind.Name) -> String {
        """
        # \(kind.rawValue.prefix(1).uppercased())\(kind.rawValue.dropFirst().replacing("-", with: " "))

        \(kind.shape.summary)

        ```json
        { "name": "\(kind.rawValue)", "faults": [ \(kind.example) ] }
        ```

        ## Keys

        \(begin("keys of \(kind.rawValue)"))
        \(end)

        ## On the wire

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
