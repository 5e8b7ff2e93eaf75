import FoundationEssentials
import ProfileFiles
import SystemPackage
import TerminalDisplay

/// The folder of `squall demo --keep`. A demo replaces files of earlier demos and touches nothing else.
enum DemoFolder {
    /// The file that marks a folder of demos.
    static let mark = ".squall-demo"
    /// The kept uploaded file.
    static let uploaded = "uploaded.bin"
    /// The working folder of a running demo. A killed demo leaves it behind.
    static let work = ".squall-demo-work"
    private static let markText = "squall demo keeps its files here, and replaces them the next time.\n"
    /// The files that a demo creates, including a leftover partial file and its journal.
    private static let made = [
        "sent/file.bin", "sent/upload.bin", "received.bin", uploaded, ".received.bin.squall-part",
        ".received.bin.squall-journal", ".received.bin.squall-mismatch",
    ]

    /// Creates the folder, or takes over an empty one or that of an earlier demo, whose received file is removed.
    static func prepare(_ folder: FilePath) throws(CommandFailure) {
        try open(folder)
        let mark = folder.appending(DemoFolder.mark)
        if type(of: mark) == .regular {
            try empty(folder)
            return
        }
        guard try names(in: folder).isEmpty else {
            throw .wrongInput(
                "“\(folder)” isn't empty and no earlier demo made it: give --keep another folder, which may be a new one"
            )
        }
        try call("open", mark) {
            let file = try FileDescriptor.open(
                mark,
                .writeOnly,
                options: [.create, .exclusiveCreate, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead, .otherRead]
            )
            try file.closeAfter { _ = try file.writeAll(markText.utf8) }
        }
    }

    /// Checks that the folder is usable; creates it if missing.
    private static func open(_ folder: FilePath) throws(CommandFailure) {
        do {
            try FileDescriptor.open(folder, .readOnly, options: [.directory, .closeOnExec]).close()
        } catch Errno.noSuchFileOrDirectory {
            try call("mkdir", folder) {
                try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
            }
        } catch {
            try call("open", folder) { throw error }
        }
    }

    private static func names(in folder: FilePath) throws(CommandFailure) -> [String] {
        try call("readdir", folder) { try FileManager.default.contentsOfDirectory(atPath: folder.string) }
    }

    /// Removes the files of an earlier demo, after checking that all of them are.
    private static func empty(_ folder: FilePath) throws(CommandFailure) {
        let sent = folder.appending("sent")
        let paths = made.map { folder.pushing(FilePath($0)) }
        let work = folder.appending(DemoFolder.work)
        let folders = [sent, work]
        let strangers = (paths + folders).filter { path in
            let found = type(of: path)
            return found != nil && found != (folders.contains(path) ? .directory : .regular)
        }
        if let stranger = strangers.first {
            throw .wrongInput("no demo made “\(stranger)”: move it away, or give --keep another folder")
        }
        for path in paths + [work] where type(of: path) != nil {
            try call("unlink", path) { try FileManager.default.removeItem(atPath: path.string) }
        }
    }

    /// The type of the file at `path`, without following a link; `nil` if there is none.
    private static func type(of path: FilePath) -> FileType? {
        try? path.stat(followTargetSymlink: false).type
    }

    private static func call<Value>(
        _ name: String,
        _ path: FilePath,
        _ body: () throws -> Value
    ) throws(CommandFailure) -> Value {
        do {
            return try body()
        } catch {
            let reason = (error as? Errno).map { "\($0) (errno \($0.rawValue))" } ?? FileProblem.reason(error)
            throw .wrongInput("can't keep the demo's files: \(name)(\(path)): \(reason)")
        }
    }
}
