import Foundation

/// A new folder of a test, which goes with all that is in it.
package final class Folder: Sendable {
    package let path: String

    package init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("squall-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package var url: URL { URL(fileURLWithPath: path, isDirectory: true) }

    /// The names in the folder, sorted.
    package var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

    /// The path of a name in it.
    package func file(_ name: String) -> String { path + "/" + name }

    package func bytes(of name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: file(name)).map { [UInt8]($0) }
    }

    package func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
    }

    package func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }

    package func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: true)
    }
}
