import Digests
import OperatingSystem
import SystemPackage
import TerminalDisplay

/// The SHA-256 of files.
package enum FileDigest {
    private static let blockSize = 1 << 20

    /// The SHA-256 of the file at `path`, read from its beginning.
    package static func sha256(ofFile path: String) throws(CommandFailure) -> [UInt8] {
        do {
            let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec])
            return try file.closeAfter {
                var hash = SHA256()
                while true {
                    let block = try DescriptorReading.bytes(of: file.rawValue, limit: blockSize)
                    if block.isEmpty { return hash.finalize() }
                    hash.update(block)
                }
            }
        } catch {
            throw .failed("can't read \(path): \(FileProblem.reason(error))")
        }
    }
}
