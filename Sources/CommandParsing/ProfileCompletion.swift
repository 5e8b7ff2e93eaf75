import ArgumentParser
import FaultProfile
import FoundationEssentials
import ProfileFiles

/// Completes profiles in shells: the names of the shipped ones, and paths of JSON files.
package enum ProfileCompletion {
    /// For arguments and options that take a profile.
    package static let kind = CompletionKind.custom { words, index, prefix in
        let word = words.indices.contains(index) ? words[index] : prefix
        return candidates(for: prefix.isEmpty ? word : prefix)
    }

    /// At most this many files are offered: 256.
    private static let fileLimit = 256

    /// The names that begin with `prefix`, then the folders and the JSON files in its folder that do.
    static func candidates(for prefix: String) -> [String] {
        let names = prefix.contains("/") ? [] : ProfileLibrary.ownProfiles + ProfileLibrary.presets
        return names.filter { $0.hasPrefix(prefix) } + files(for: prefix)
    }

    private static func files(for prefix: String) -> [String] {
        let folder = prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? ""
        let start = prefix.dropFirst(folder.count)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
        let files = names.sorted().compactMap { name -> String? in
            guard name.hasPrefix(start), !name.hasPrefix(".") || start.hasPrefix(".") else { return nil }
            var isFolder: Bool = false
            guard FileManager.default.fileExists(atPath: folder + name, isDirectory: &isFolder) else { return nil }
            return isFolder ? "\(folder)\(name)/" : name.hasSuffix(".json") ? folder + name : nil
        }
        return Array(files.prefix(fileLimit))
    }
}
