import Foundation
import SystemPackage

/// The folder of `squall demo --keep`. What a demo made in it, the next one replaces; nothing else is touched.
enum KeptFolder {
    /// The file that tells a folder of demos from any other.
    static let mark = ".squall-demo"
    /// Where the uploaded file is kept.
    static let uploaded = "uploaded.bin"
    /// The folder of a demo at work. One that was killed leaves it behind.
    static let work = ".squall-demo-work"
    private static let markText = "squall demo keeps its files here, and replaces them the next time.\n"
    /// What a demo makes in its folder, a partial file that was left and its journal included.
    private static let made = [
        "sent/file.bin", "received.bin", uploaded, ".received.bin.squall-part", ".received.bin.squall-journal",
        ".received.bin.squall-mismatch",
    ]

    /// Makes the folder, or takes an empty one or that of an earlier demo, whose received file is removed.
    static func prepare(_ folder: FilePath) throws(CommandFailure) {
        try open(folder)
        let mark = folder.appending(KeptFolder.mark)
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

    /// Looks whether the folder can be used, and makes it where there is none.
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

    /// Removes what an earlier demo made, once all of it is known to be that.
    private static func empty(_ folder: FilePath) throws(CommandFailure) {
        let sent = folder.appending("sent")
        let paths = made.map { folder.pushing(FilePath($0)) }
        let work = folder.appending(KeptFolder.work)
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

    /// What is at `path`, a link being one; `nil` for nothing.
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
