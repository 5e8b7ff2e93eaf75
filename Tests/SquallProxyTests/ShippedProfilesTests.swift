import FaultProfile
import Foundation
import ShippedProfiles
import SquallProxy
import Testing

/// The profiles within the library.
@Suite struct ShippedProfilesTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Profiles")

    @Test func `the library has every file of the folder Profiles, byte for byte`() throws {
        let walk = try #require(FileManager.default.enumerator(atPath: Self.folder.path))
        let paths = walk.compactMap { $0 as? String }
            .filter { ($0.hasSuffix(".json") || $0.hasSuffix(".trace")) && !$0.hasSuffix(".schema.json") }
        #expect(paths.count >= 50)
        for path in paths {
            let source = try #require(ShippedProfiles.source(at: ShippedProfiles.folder + path)).get()
            let bytes = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent(path)))
            #expect(source.bytes == bytes, "\(path)")
        }
    }

    @Test func `every profile and every preset is found by its name, and read`() throws {
        #expect(ShippedProfiles.ownProfiles.contains("wifi-roam"))
        #expect(ShippedProfiles.ownProfiles.contains("cell-edge"), "it has a trace")
        #expect(ShippedProfiles.presets.count > 80)
        for name in ShippedProfiles.ownProfiles + ShippedProfiles.presets {
            try NetworkProfile.profile(name).check()
        }
    }

    @Test func `a misspelled name gets a suggestion`() {
        let error = #expect(throws: FaultProxyError.self) { try NetworkProfile.profile("wifi-raom").check() }
        #expect(error?.code == .invalidProfile)
        #expect(error?.message.contains("there is no profile “wifi-raom” (did you mean “wifi-roam”?)") == true)
    }

    @Test func `a path that leaves the folder finds nothing`() throws {
        let source = try #require(ShippedProfiles.source(at: "squall:/presets/../../traces/12mbit.trace"))
        #expect(throws: Never.self) { try source.get() }
        let none = try #require(ShippedProfiles.source(at: "squall:/none.json"))
        #expect(throws: ResolutionError.self) { try none.get() }
        #expect(ShippedProfiles.source(at: "wifi-roam.json") == nil)
    }
}
