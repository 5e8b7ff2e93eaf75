import CProfiles
import FaultProfile
import Units

/// The shipped profiles. Their files are part of the program, so they are found wherever it runs.
package enum ShippedProfiles {
    /// The folder of the files, as their paths begin. No path of the file system does.
    package static let folder = "squall:/"

    /// The names of the profiles that aren't presets, sorted.
    package static let ownProfiles = files.filter { !$0.contains("/") && $0.hasSuffix(".json") }
        .map { String($0.dropLast(".json".count)) }.sorted()

    /// The names of the presets, in the order of their files.
    package static let presets = presetFiles.flatMap(\.names)

    /// The source of the profile or preset called `name`.
    package static func source(named name: String) -> Result<ProfileSource, ResolutionError> {
        if let bytes = bytes(of: "\(name).json") {
            return .success(ProfileSource(file: "\(folder)\(name).json", bytes: bytes))
        }
        if let file = presetFiles.first(where: { $0.names.contains(name) }) {
            return .success(ProfileSource(file: folder + file.path, bytes: bytes(of: file.path) ?? [], preset: name))
        }
        return .failure(ProfileNames.unknown(name, among: ownProfiles + presets))
    }

    /// The source of a path that begins with `folder`; `nil` for any other path.
    package static func source(at path: String) -> Result<ProfileSource, ResolutionError>? {
        guard path.hasPrefix(folder) else { return nil }
        var parts: [Substring] = []
        for part in path.dropFirst(folder.count).split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        guard let bytes = bytes(of: parts.joined(separator: "/")) else {
            let what = "there is no shipped file \(path.quoted)"
            return .failure(ResolutionError(what: what, remedy: "give the path of a file of your own"))
        }
        return .success(ProfileSource(file: folder + parts.joined(separator: "/"), bytes: bytes))
    }

    private static let presetFiles: [(path: String, names: [String])] =
        files.filter { $0.hasPrefix("presets/") && $0.hasSuffix(".json") }.compactMap { path in
            guard let bytes = bytes(of: path) else { return nil }
            return PresetFile(ProfileSource(file: path, bytes: bytes)).map { (path, $0.names) }
        }

    static func bytes(of path: String) -> [UInt8]? {
        files.firstIndex(of: path).map { index in
            let start = squall_profile_start(index)
            return (start..<squall_profile_start(index + 1) - 1).map(squall_profile_byte)
        }
    }
}
