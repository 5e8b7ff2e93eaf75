import Foundation
import Testing
import TransferClient

/// The events documented in docs/command.md.
@Suite(.timeLimit(.minutes(5))) struct CommandPageTests {
    /// The documented keys of each event, for uploads and others.
    private func documented(ofUploads: Bool) throws -> [String: Set<String>] {
        let page = try String(contentsOf: Repository.root.appendingPathComponent("docs/command.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").compactMap { line -> (String, Set<String>)? in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4 else { return nil }
            let words = cells.map { $0.matches(of: /`([A-Za-z0-9]+)`/).map { String($0.output.1) } }
            guard let event = words[0].first, words[1].contains(where: ["get", "put", "demo", "plan"].contains),
                // A row of both directions names `get` and `put`.
                ofUploads ? words[1].contains("put") : words[1].contains("get") || !words[1].contains("put")
            else { return nil }
            return (event, Set(words[2]))
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    @Test func `every code of a failure has its row, and no other`() throws {
        let page = try String(contentsOf: Repository.root.appendingPathComponent("docs/command.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "| `code` of `failed` |").last)
        let rows = section.components(separatedBy: "\n\n")[0].split(separator: "\n").dropFirst(2)
        let codes = rows.flatMap { row in
            (row.split(separator: "|").first ?? "").matches(of: /`([a-z-]+)`/).map { String($0.output.1) }
        }
        #expect(codes.sorted() == TransferFailureCode.allCases.map(\.rawValue).sorted())
    }

    @Test func `every reported event has its row, with its keys`() async throws {
        let rows = (downloads: try documented(ofUploads: false), uploads: try documented(ofUploads: true))
        let demo = try await squall("demo", "first-two-fail", "--size", "256KiB", "--events", "json")
        let plan = try await squall("plan", "first-two-fail", "--size", "256KiB", "--events", "json")
        #expect(demo.status == 0 && plan.status == 0)
        var seen: (downloads: Set<String>, uploads: Set<String>) = ([], [])
        for line in demo.lines + plan.lines {
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let event = try #require(object["event"] as? String)
            let isUpload = object["transfer"] as? String == "upload" && event != "proved"
            if isUpload { seen.uploads.insert(event) } else { seen.downloads.insert(event) }
            let row = isUpload ? rows.uploads[event] : rows.downloads[event]
            let documented = try #require(row, "docs/command.md has no row for \(event)")
            #expect(object.keys.contains("transfer") == (event != "predicted"), "\(line)")
            let keys = Set(object.keys).subtracting(["event", "transfer"])
            // The length is known once the server has sent it.
            #expect(
                keys == documented || event == "progress" && keys.isSubset(of: documented),
                "\(event): \(keys.sorted())"
            )
        }
        #expect(
            seen.downloads.isSuperset(
                of: ["started", "resumed", "retrying", "verified", "finished", "proved", "predicted"]
            )
        )
        #expect(seen.uploads.isSuperset(of: ["started", "resumable", "progress", "verified", "finished"]))
    }
}
