import FaultProfile
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

    /// The files of presets, by their names without the ending.
    static let presetFiles = profiles(in: "Profiles/presets")

    /// The names of the presets.
    static let presets = presetFiles.flatMap { file in (try? presetFile(file)).flatMap(PresetFile.init)?.names ?? [] }

    /// A file of presets by its name without the ending.
    static func presetFile(_ name: String) throws -> ProfileSource {
        let path = "Profiles/presets/\(name).json"
        return ProfileSource(file: path, bytes: try bytes(of: path))
    }

    /// The source of a preset by its name.
    static func preset(_ name: String) throws -> ProfileSource? {
        for file in presetFiles {
            var source = try presetFile(file)
            guard PresetFile(source)?.names.contains(name) == true else { continue }
            source.preset = name
            return source
        }
        return nil
    }

    private static func profiles(in folder: String) -> [String] {
        let folder = root.appendingPathComponent(folder).path
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".json") && !$0.hasSuffix(".schema.json") }.map { String($0.dropLast(5)) }
            .sorted()
    }
}
