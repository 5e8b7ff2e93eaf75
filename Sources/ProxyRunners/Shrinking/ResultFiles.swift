import FoundationEssentials
import OperatingSystem
import ProfileFiles
import SystemPackage
import TerminalDisplay

/// The output files of `squall shrink`.
package struct ResultFiles {
    /// The profile found.
    let profile: String
    /// The journal of the last run.
    let journal: String

    package init(_ path: String) {
        profile = path + ".json"
        journal = path + ".jsonl"
    }

    /// Checks that both can be written and don't overwrite an input, without changing them.
    package func check(reading inputs: InputFiles) throws(CommandFailure) {
        if FileProblem.isSameFile(profile, journal) {
            throw .wrongInput("“\(profile)” and “\(journal)” are one file: name another --output")
        }
        for path in [profile, journal] { try ResultFiles.check(path, reading: inputs, "--output") }
    }

    /// Checks that a file named by an option can be written and doesn't overwrite an input, without changing it.
    package static func check(
        _ path: String,
        called what: String? = nil,
        reading inputs: InputFiles,
        _ option: String
    ) throws(CommandFailure) {
        try inputs.check(writing: what ?? "“\(path)”", to: path)
        // Opening and closing a FIFO would end its reader.
        if (try? FilePath(path).stat().type) == .fifo {
            throw .wrongInput("can't write “\(path)”: it is a FIFO, and a result is a regular file (\(option))")
        }
        do {
            for place in [path, FileReplacement.Places(path).partial] { try ResultFiles.open(FilePath(place)) }
        } catch {
            throw .wrongInput("can't write “\(path)”: \(error) (\(option))")
        }
    }

    private static func open(_ path: FilePath) throws {
        do {
            try FileDescriptor.open(path, .writeOnly, options: [.closeOnExec]).close()
        } catch Errno.noSuchFileOrDirectory {
            let options: FileDescriptor.OpenOptions = [.create, .exclusiveCreate, .closeOnExec]
            try FileDescriptor.open(path, .writeOnly, options: options, permissions: .ownerReadWrite).close()
            try FileManager.default.removeItem(atPath: path.string)
        }
    }
}
