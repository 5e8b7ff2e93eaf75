import FoundationEssentials

/// Paths that don't depend on the working directory.
enum AbsolutePath {
    static func of(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
}
