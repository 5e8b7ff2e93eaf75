import Testing
import Units

@testable import FaultProfile

@Suite struct ShippedProfileTests {
    private static func read(_ name: String) throws -> Profile {
        let source = ProfileSource(
            file: "\(name).json",
            bytes: try Repository.bytes(of: "Profiles/\(name).json")
        )
        return try ProfileReader.profile(from: source, resolving: shippedTrace)
    }

    @Test(arguments: Repository.shippedProfiles)
    func `every shipped profile is read, is named as its file, and says in a line what it is`(name: String) throws {
        let profile = try ShippedProfileTests.read(name)
        #expect(profile.name == name)
        #expect((10...100).contains(profile.summary.count))
        #expect(profile.summary.allSatisfy { !$0.isNewline })
        #expect(!profile.faults.isEmpty || !profile.phases.isEmpty)
    }

    @Test(arguments: Repository.shippedProfiles)
    func `every shipped profile names the schema that lies beside it`(name: String) throws {
        var problems = ProblemList()
        let file = problems.addFile(name)
        let bytes = try Repository.bytes(of: "Profiles/\(name).json")
        let root = try #require(JSONReader.read(bytes, file: file, problems: &problems))
        guard case .text(let schema)? = root["$schema"]?.value else {
            Issue.record("\(name) has no $schema")
            return
        }
        #expect(schema == "profile.schema.json")
    }

    @Test func `the profiles that the documentation promises are there`() {
        let promised = [
            "cut-every-mebibyte", "dead-server", "elevator", "first-two-fail", "slow-3g", "slow-start-stall",
            "wifi-roam",
            "wifi-walkaway",
        ]
        #expect(Set(promised).isSubset(of: Repository.shippedProfiles))
    }

    @Test func `every kind of fault has a shipped profile`() throws {
        let profiles = try Repository.shippedProfiles.map { try ShippedProfileTests.read($0) }
        let kinds = profiles.flatMap { $0.faults + $0.phases.flatMap(\.faults) }.map(\.kind.name)
        #expect(Set(kinds) == Set(FaultKind.Name.allCases))
    }

    @Test func `walking away breaks every connection once, and leaves time for 64 MiB within 30 s`() throws {
        let profile = try ShippedProfileTests.read("wifi-walkaway")
        let outages = profile.phases.filter { $0.faults.contains { $0.kind.name.rawValue == "outage" } }
        #expect(outages.count == 1)
        #expect(outages[0].faults.contains { $0.kind == .outage(Outage(how: .refuse)) })
        var left = ByteCount.mebibytes(64).bytes
        var nanoseconds: Int64 = 0
        for phase in profile.phases {
            let rates = phase.faults.compactMap { fault -> BitRate? in
                if case .bandwidth(let bandwidth) = fault.kind { bandwidth.rate } else { nil }
            }
            let rate = rates.first ?? BitRate(bitsPerSecond: 0)
            let needed = rate.nanoseconds(forBytes: left)
            let lasting = phase.duration?.nanoseconds ?? .max
            if phase.name == "gone" { #expect(left > 0, "the download must not be done before the outage") }
            nanoseconds += min(needed, lasting)
            left -= min(left, rate.bytes(inNanoseconds: min(needed, lasting)))
            if left == 0 { break }
        }
        #expect(left == 0)
        #expect(nanoseconds < 20_000_000_000)
    }
}

extension JSONNode {
    /// The value of a key; `nil` where this isn't an object, or has no such key.
    subscript(key: String) -> JSONNode? {
        guard case .object(let members) = value else { return nil }
        return members.first { $0.key == key }?.node
    }

    /// The elements of a list, else none.
    var elements: [JSONNode] {
        if case .array(let nodes) = value { nodes } else { [] }
    }

    /// The text, if this is one.
    var text: String? {
        if case .text(let text) = value { text } else { nil }
    }
}
