import Foundation
import Testing

/// The dashboard of `docker/grafana-dashboard.json`.
@Suite(.timeLimit(.minutes(2))) struct DashboardTests {
    @Test func `every panel asks for metrics that there are, with labels that they have`() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let data = try Data(contentsOf: root.appending(path: "docker/grafana-dashboard.json"))
        let dashboard = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        let targets = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }
        let expressions = targets.compactMap { $0["expr"] as? String }
        #expect(panels.count >= 5 && expressions.count >= panels.count)
        try await withV1 { api in
            try await api.create("a", #","profile":"slow""#)
            let client = try await api.client(of: "a")
            let text = try await api.send(.get, "/metrics").text
            client.close()
            for expression in expressions {
                let names = expression.matches(of: /\b(?:toxiproxy|squall)_[a-z_]+/).map { String($0.output) }
                #expect(names.count == 1, "\(expression)")
                let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("\(names[0]){") }, "\(names)")
                let grouped = expression.firstMatch(of: /by \(([a-z, ]+)\)/)?.output.1.split(separator: ", ") ?? []
                for label in grouped { #expect(line.contains("\(label)=\""), "\(expression)") }
            }
        }
    }
}
