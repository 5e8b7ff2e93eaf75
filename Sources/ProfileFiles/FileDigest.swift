import Digests
import OperatingSystem
import SystemPackage
import TerminalDisplay

/// The SHA-256 of files.
package enum FileDigest {
    private static let blockSize = 1 << 20

    /// The SHA-256 of the regular file at `path`.
    package static func sha256(ofFile path: String) throws(CommandFailure) -> [UInt8] {
        let file: FileDescriptor
        do throws(RegularFileProblem) {
            file = try RegularFile.open(path)
        } catch {
            throw .failed("can't read \(path): \(error.reason)")
        }
        do {
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
