import FoundationEssentials
import Synchronization
import SystemPackage
import TerminalDisplay
import Units

/// The log of a daemon: lines with their time, at most twice 1 MiB, of which the older half is in `PATH.old`.
final class BoundedLog: Sendable {
    private struct State {
        var file: FileDescriptor
        var size: Int64
    }

    private let path: String
    private let state: Mutex<State>

    /// The size at which the older half begins: 1 MiB.
    static let limit: Int64 = 1 << 20

    /// Opens the log at a path, readable for its owner only.
    init(_ path: String) throws(Errno) {
        self.path = path
        let file = try Self.open(path)
        state = Mutex(State(file: file, size: (try? file.stat().size) ?? 0))
    }

    private static func open(_ path: String) throws(Errno) -> FileDescriptor {
        do {
            return try FileDescriptor.open(
                FilePath(path),
                .writeOnly,
                options: [.create, .append, .closeOnExec],
                permissions: .ownerReadWrite
            )
        } catch {
            throw error as? Errno ?? .ioError
        }
    }

    /// Writes a line. What can't be written is dropped.
    func write(_ text: String) {
        let line = "\(Self.time) \(text.visibleLine)\n"
        state.withLock { state in
            if state.size >= Self.limit, let fresh = try? rotated() {
                try? state.file.close()
                state = State(file: fresh, size: 0)
            }
            state.size += Int64((try? state.file.writeAll(line.utf8)) ?? 0)
        }
    }

    private func rotated() throws -> FileDescriptor {
        let older = path + ".old"
        try? FileManager.default.removeItem(atPath: older)
        try FileManager.default.moveItem(atPath: path, toPath: older)
        return try Self.open(path)
    }

    private static var time: String { Date().formatted(.iso8601) }

    /// The newest lines of the log at a path.
    static func lines(of path: String, count: Int) -> [Substring] {
        let bytes = [path + ".old", path].compactMap { FileManager.default.contents(atPath: $0) }.joined()
        return String(decoding: Array(bytes), as: UTF8.self).split(separator: "\n").suffix(count)
    }
}
