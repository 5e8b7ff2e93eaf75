import FoundationEssentials
import SystemPackage

/// Paths that don't depend on the working directory, in one form for a file: `./a` is `a`. `..` stays, as it is of another folder
/// after a symbolic link.
enum AbsolutePath {
    static func of(_ path: String) -> String {
        var whole = FilePath(FileManager.default.currentDirectoryPath).pushing(FilePath(path))
        whole.components.removeAll { $0.kind == .currentDirectory }
        return whole.string
    }
}
