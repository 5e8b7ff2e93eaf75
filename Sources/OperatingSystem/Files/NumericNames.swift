import Glibc

/// Names of files that are numbers, as those of processes and descriptors in /proc.
package enum NumericNames {
    /// Those in a folder; `nil`, with the error in `errno`, if it can't be read.
    package static func of(_ folder: String) -> [Int32]? {
        guard let folder = opendir(folder) else { return nil }
        defer { closedir(folder) }
        var numbers: [Int32] = []
        while let entry = readdir(folder) {
            let number = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { Int32(String(cString: $0)) }
            }
            if let number { numbers.append(number) }
        }
        return numbers
    }
}
