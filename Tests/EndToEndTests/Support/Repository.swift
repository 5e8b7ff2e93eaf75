import FaultProfile
import Foundation

/// The files of this repository.
enum Repository {
    /// Its top folder.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Every file of the repository by relative path, except for build products, hidden files and binaries.
    static let files: [String] = {
        let walk = FileManager.default.enumerator(atPath: root.path)
        var files: [String] = []
        while let path = walk?.nextObject() as? String {
            if path.hasPrefix("."), !path.hasPrefix(".ci") {
                walk?.skipDescendants()
            } else if texts.contains(URL(fileURLWithPath: path).pathExtension) || named.contains(path) {
                files.append(path)
            }
        }
        return files.sorted()
    }()

    /// The names of the shipped profiles, by their files: the scenarios.
    static let profiles = files(in: "Profiles", ending: ".json").map { String($0.dropFirst(9).dropLast(5)) }
        .filter { !$0.hasSuffix(".schema") && !$0.contains("/") }

    /// The files of presets, by their paths from the root.
    static let presetFiles = files(in: "Profiles/presets", ending: ".json")

    /// The names of the presets.
    static let presets = presetFiles.flatMap { path in
        (try? text(path)).flatMap { PresetFile(ProfileSource(file: path, text: $0)) }?.names ?? []
    }

    private static let texts: Set<String> = [
        "swift", "md", "json", "py", "h", "modulemap", "yaml", "sh", "conf",
    ]
    private static let named: Set<String> = [".ci/run", "Makefile", "docker/Dockerfile"]

    /// The files in `folder` whose paths end with `ending`.
    static func files(in folder: String, ending: String) -> [String] {
        files.filter { $0.hasPrefix(folder + "/") && $0.hasSuffix(ending) }
    }

    /// The text of a file by its path from the root.
    static func text(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: root.appendingPathComponent(path)), as: UTF8.self)
    }

    /// Whether there is a file or a folder at a path from the root.
    static func has(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
    }
}
