import Foundation

/// Files of the repository that this test belongs to.
enum Repository {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The content of a file by its path from the root.
    static func bytes(of path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: root.appendingPathComponent(path)))
    }

    /// The names of the shipped profiles, by their files.
    static let shippedProfiles = profiles(in: "Profiles")

    /// The names of the presets, by their files.
    static let presets = profiles(in: "Profiles/presets")

    private static func profiles(in folder: String) -> [String] {
        let folder = root.appendingPathComponent(folder).path
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".json") && !$0.hasSuffix(".schema.json") }.map { String($0.dropLast(5)) }
            .sorted()
    }
}
