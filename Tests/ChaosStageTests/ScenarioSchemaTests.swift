import Foundation
import Testing

@testable import ChaosStage

/// The schema that editors use knows what the reader knows.
struct ScenarioSchemaTests {
    private func schema() throws -> [String: Any] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let data = try Data(contentsOf: root.appendingPathComponent("Profiles/scenario.schema.json"))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test func `its keys are those of the reader`() throws {
        let schema = try schema()
        let keys = try #require(schema["properties"] as? [String: Any]).keys
        #expect(keys.sorted() == ScenarioReader.shape.keys.map(\.name).sorted())
        let proxy = try #require((schema["$defs"] as? [String: Any])?["proxy"] as? [String: Any])
        let proxyKeys = try #require(proxy["properties"] as? [String: Any]).keys
        #expect(proxyKeys.sorted() == ScenarioReader.proxyShape.keys.map(\.name).sorted())
    }

    @Test func `its limits are those of the reader`() throws {
        let properties = try #require(try schema()["properties"] as? [String: [String: Any]])
        #expect(properties["proxies"]?["maxItems"] as? Int == Scenario.proxyLimit)
        #expect(properties["profiles"]?["maxItems"] as? Int == Scenario.profileLimit)
        #expect(properties["command"]?["maxItems"] as? Int == Scenario.wordLimit)
        #expect(properties["expect"]?["maxItems"] as? Int == Scenario.expectationLimit)
        #expect(properties["jobs"]?["maximum"] as? Int == Scenario.jobLimit)
        let text = properties["expect"]?["items"] as? [String: Any]
        #expect(text?["maxLength"] as? Int == ChaosStage.Expectation.lengthLimit)
    }
}
