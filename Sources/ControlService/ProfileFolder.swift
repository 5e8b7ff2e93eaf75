import ControlAPI
import FaultProfile
import FoundationEssentials
import ProfileFiles
import TerminalDisplay

/// The folder of profiles that `squall serve` watches.
package struct ProfileFolder {
    /// The time between two looks at the folder: 100 ms.
    private static let interval = Duration.milliseconds(100)

    /// Absolute, as proxies keep the paths of the files that its profiles name.
    private let path: String

    /// The folder at `path`.
    package init(path: String) { self.path = ServedProfiles.absolute(path) }

    /// The names of its profiles.
    private func list() throws(CommandFailure) -> [String] {
        let files: [String]
        do {
            files = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw .wrongInput("can't read the folder of profiles “\(path)”: \(FileProblem.reason(error))")
        }
        let names = files.filter { $0.hasSuffix(".json") && !$0.hasSuffix(".schema.json") && !$0.hasPrefix(".") }
            .map { String($0.dropLast(".json".count)) }.sorted()
        guard names.count <= V1API.folderLimit else {
            throw .wrongInput("the folder “\(path)” has more than \(V1API.folderLimit) profiles")
        }
        return names
    }

    private func file(_ name: String) -> String { "\(path)/\(name).json" }

    /// The text of each profile; files that can't be read are absent.
    private func sources(_ names: [String]) -> [String: ProfileSource] {
        var sources: [String: ProfileSource] = [:]
        for name in names { sources[name] = try? ProfileLibrary.read(file(name)).get() }
        return sources
    }

    /// Hands the profiles to the server, and warns of those with problems.
    package func load(_ api: V1API) async throws(CommandFailure) -> ProfileWatch {
        let names = try list()
        let stamps = names.map { FileStamp(file($0)) }
        for report in await api.takeFolder(sources(names)) { Console.warn(lines: report) }
        return ProfileWatch(stamps)
    }

    /// Hands changed profiles to the server until the task is cancelled. A problem that an editor's half-written file has is
    /// reported once the file stays as it is, and a folder that can't be read once until it can.
    package func follow(_ api: V1API, _ watch: ProfileWatch) async {
        var watch = watch
        var told: String?
        while !Task.isCancelled {
            try? await Task.sleep(for: ProfileFolder.interval)
            do throws(CommandFailure) {
                let names = try list()
                told = nil
                // `load` gets to know the files that they name while it reads them: after the first look they are read again.
                let stamps = (names.map(file) + api.folderFiles).map { FileStamp($0) }
                guard case .read(let reportsProblems) = watch.poll(stamps), reportsProblems else { continue }
                for report in await api.takeFolder(sources(names)) { Console.warn(lines: report) }
            } catch {
                guard error.message != told else { continue }
                told = error.message
                api.noteFolderProblem(error.message)
                Console.warn(error.message)
            }
        }
    }
}
