import Glibc

/// Names of files.
enum FileNames {
    /// Those in a folder, with “.” and “..”; `nil`, with the error in `errno`, if it can't be read.
    static func of(_ folder: String) -> [String]? {
        guard let folder = opendir(folder) else { return nil }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }
}

/// Names of files that are numbers, as those of processes and descriptors in /proc.
package enum NumericNames {
    /// Those in a folder; `nil`, with the error in `errno`, if it can't be read.
    package static func of(_ folder: String) -> [Int32]? { FileNames.of(folder)?.compactMap { Int32($0) } }
}
