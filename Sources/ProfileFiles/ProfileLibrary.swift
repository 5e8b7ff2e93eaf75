import FaultProfile
import FoundationEssentials
import TerminalDisplay
import Units

/// Finds profiles: files by path, shipped ones by name.
package enum ProfileLibrary {
    /// The folder of the shipped profiles: `SQUALL_PROFILES` if set, else the first `Profiles` or
    /// `share/squall/profiles` next to the program or in a parent folder.
    package static var folder: String? {
        let chosen = ProcessInfo.processInfo.environment["SQUALL_PROFILES"] ?? ""
        return (chosen.isEmpty ? candidates : [chosen]).first(where: isFolder)
    }

    /// The remedy when the folder is missing or empty.
    package static var whereToLook: String {
        let chosen = ProcessInfo.processInfo.environment["SQUALL_PROFILES"] ?? ""
        return chosen.isEmpty
            ? "set SQUALL_PROFILES to their folder" : "SQUALL_PROFILES is “\(shown(chosen))”: set it to their folder"
    }

    /// The sorted names of the shipped profiles, without the presets.
    package static var ownProfiles: [String] { folder.map(names(in:)) ?? [] }

    /// The files of presets, by their titles, with what each has. A file that is a single profile counts as one preset of
    /// its name, without a source.
    package static var presetFiles: [(title: String, names: [String], source: ProfileSource?)] {
        guard let folder = folder.map({ "\($0)/presets" }) else { return [] }
        return names(in: folder).map { name in
            let source = try? read("\(folder)/\(name).json").get()
            return source.flatMap(PresetFile.init).map { ($0.title, $0.names, source) } ?? ("Others", [name], nil)
        }
    }

    /// The names of the files of presets, without their ending.
    package static var presetFileNames: [String] { folder.map { names(in: "\($0)/presets") } ?? [] }

    /// The names of the presets. Each starts with the name of a tool and a dash.
    package static var presets: [String] { presetFiles.flatMap(\.names) }

    private static func names(in folder: String) -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".json") && !$0.hasSuffix(".schema.json") }
            .map { String($0.dropLast(".json".count)) }.sorted()
    }

    /// The source of `reference`: a path (with a slash, or ending in .json), the name of a shipped profile, or "-" for
    /// standard input.
    package static func source(
        _ reference: String,
        noting inputs: InputFiles = InputFiles()
    ) throws(CommandFailure) -> ProfileSource {
        if reference == StandardInput.reference { return try StandardInput.source(noting: inputs) }
        let text = reference
        let reference = ProfileReference(text, in: "")
        switch inputs.noted(reference, resolve(reference)) {
        case .success(let source): return source
        case .failure(let error): throw .unresolved(error, text)
        }
    }

    /// The profiles of a file of presets; `nil` if `source` isn't one. Throws all of their problems at once.
    package static func presets(of source: ProfileSource) throws(CommandFailure) -> [Profile]? {
        guard source.preset == nil, PresetFile(source) != nil else { return nil }
        do {
            return try ProfileReader.presets(of: source, resolving: resolve)
        } catch {
            throw .problems(error)
        }
    }

    /// The profile of `reference`; reports all problems at once. Notes its files in `inputs`: its own, those it
    /// extends, and its traces.
    package static func profile(
        _ reference: String,
        noting inputs: InputFiles = InputFiles()
    ) throws(CommandFailure) -> Profile {
        let source = try source(reference, noting: inputs)
        do {
            return try ProfileReader.profile(from: source) { inputs.noted($0, resolve($0)) }
        } catch {
            throw .problems(error)
        }
    }

    /// Resolves a reference of a profile.
    package static func resolve(_ reference: ProfileReference) -> Result<ProfileSource, ResolutionError> {
        switch reference {
        case .path(let path):
            return read(path)
        case .trace(let path):
            return read(path, "trace", limit: ProfileLimits.traceBytes)
        case .certificate(let path):
            return read(path, "certificate", limit: ProfileLimits.certificateBytes)
        case .shipped(let name):
            guard let folder else {
                let what = "the folder of the shipped profiles isn't there, so \(name.quoted) can't be found"
                return .failure(ResolutionError(what: what, remedy: "\(whereToLook), or give a path"))
            }
            if ownProfiles.contains(name) { return read("\(folder)/\(name).json") }
            if let preset = preset(name, in: "\(folder)/presets") { return .success(preset) }
            let (ownProfiles, presets) = (ownProfiles, presets)
            guard !ownProfiles.isEmpty else {
                let what = "there is no profile in the folder of the shipped ones, so \(name.quoted) can't be found"
                return .failure(ResolutionError(what: what, remedy: "\(whereToLook), or give a path"))
            }
            return .failure(ProfileNames.unknown(name, among: ownProfiles + presets))
        }
    }

    /// Finds a preset by name: in a file of presets, or as a file of its own. A file that isn't JSON is taken if it
    /// mentions the name, so that its problems are reported.
    private static func preset(_ name: String, in folder: String) -> ProfileSource? {
        let quoted = "\"\(name)\""
        var unreadable: ProfileSource?
        for file in names(in: folder) {
            guard var source = try? read("\(folder)/\(file).json").get() else { continue }
            if file == name { return source }
            // Most files are skipped without parsing.
            guard String(decoding: source.bytes, as: UTF8.self).contains(quoted) else { continue }
            source.preset = name
            if PresetFile(source)?.names.contains(name) == true { return source }
            if !JSONSyntax.isValid(source.bytes) { unreadable = source }
        }
        return unreadable
    }

    package static func read(
        _ path: String,
        _ what: String = "profile",
        limit: Int = ProfileLimits.fileBytes
    ) -> Result<ProfileSource, ResolutionError> {
        do throws(RegularFileProblem) {
            // One byte above the limit lets the reader detect that the file is too long.
            return .success(ProfileSource(file: path, bytes: try RegularFile.bytes(of: path, limit: limit + 1)))
        } catch {
            let what = "can't read the \(what) “\(shown(path))”: \(error.reason)"
            return .failure(ResolutionError(what: what, remedy: error.remedy))
        }
    }

    /// A file that is to be a list of objects in JSON, or an object. No other file is read by anybody, or quoted.
    package static func readDocument(
        _ path: String,
        _ what: String,
        limit: Int = ProfileLimits.fileBytes,
        isList: Bool
    ) -> Result<ProfileSource, ResolutionError> {
        read(path, what, limit: limit).flatMap { source in
            let marks = source.bytes.lazy.filter { !" \t\r\n".utf8.contains($0) }.prefix(2)
            let begin = String(decoding: Array(marks), as: UTF8.self)
            guard isList ? ["[{", "[]"].contains(begin) : begin.hasPrefix("{") else {
                let what = "“\(shown(path))” is no \(what): it doesn't begin with \(isList ? "[ and {" : "{")"
                return .failure(ResolutionError(what: what, remedy: "check the path"))
            }
            return .success(source)
        }
    }

    /// A path in a message, on one line.
    private static func shown(_ path: String) -> String { path.shortened(to: ProfileLimits.pathLength) }

    private static var candidates: [String] {
        var folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        var found: [String] = []
        for _ in 0..<8 {
            found += ["Profiles", "share/squall/profiles"].map { folder.appendingPathComponent($0).path }
            folder = folder.deletingLastPathComponent()
        }
        return found
    }

    private static func isFolder(_ path: String) -> Bool {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) != nil
    }
}
