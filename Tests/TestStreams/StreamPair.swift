import Foundation
import Glibc

/// Two connected in-process stream ends that concurrently started programs don't inherit.
///
/// A socket pair, since Glibc doesn't export pipe2(2) to Swift; see socketpair(2).
package struct StreamPair {
    /// The reader closes it.
    package let reader: Int32
    package let writer: FileHandle

    package init() throws {
        var ends: [Int32] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Complaint("socketpair: errno \(errno)") }
        reader = ends[0]
        writer = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
}
