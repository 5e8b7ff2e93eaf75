import Foundation
import Testing

/// What docs/command.md says of events.
@Suite(.timeLimit(.minutes(5))) struct CommandPageTests {
    /// The keys that the page gives for each event.
    private func documented() throws -> [String: Set<String>] {
        let page = try String(contentsOf: Repository.root.appendingPathComponent("docs/command.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").compactMap { line -> (String, Set<String>)? in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4 else { return nil }
            let words = cells.map { $0.matches(of: /`([A-Za-z0-9]+)`/).map { String($0.output.1) } }
            guard let event = words[0].first, words[1].contains(where: ["get", "demo", "plan"].contains) else {
                return nil
            }
            return (event, Set(words[2]))
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    @Test func `every event that is told has its row, with its keys`() async throws {
        let rows = try documented()
        let demo = try await squall("demo", "first-two-fail", "--size", "256KiB", "--events", "json")
        let plan = try await squall("plan", "first-two-fail", "--size", "256KiB", "--events", "json")
        #expect(demo.status == 0 && plan.status == 0)
        var seen: Set<String> = []
        for line in demo.lines + plan.lines {
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let event = try #require(object["event"] as? String)
            seen.insert(event)
            let row = try #require(rows[event], "docs/command.md has no row for \(event)")
            let keys = Set(object.keys).subtracting(["event"])
            // The length is told once the server has told it.
            #expect(keys == row || event == "progress" && keys.isSubset(of: row), "\(event): \(keys.sorted())")
        }
        #expect(seen.isSuperset(of: ["started", "resumed", "retrying", "verified", "finished", "proved", "predicted"]))
    }
}
