import Dispatch
import Glibc
import Synchronization

/// Writes lines to a file, a pipe or a terminal on a thread of its own, so that nobody who logs waits for a disk.
public final class LineWriter: Sendable {
    /// The lines that wait to be written at most; beyond it lines are dropped and counted.
    public static let limit = 65_536

    private struct State {
        var lines: [String] = []
        var dropped = 0
        var failure: SystemError?
    }

    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "squall.line-writer")

    /// Writes to the file at `path`, which is emptied first; "-" is standard output.
    ///
    /// - Throws: `SystemError` of open(2).
    public init(path: String) throws(SystemError) {
        if path == "-" {
            descriptor = STDOUT_FILENO
            ownsDescriptor = false
        } else {
            descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            ownsDescriptor = true
            if descriptor < 0 { throw .last("open") }
        }
    }

    /// Writes to standard error.
    public init(standardError: Void) {
        descriptor = STDERR_FILENO
        ownsDescriptor = false
    }

    deinit {
        if ownsDescriptor { close(descriptor) }
    }

    /// Queues `line`, without its line end.
    public func write(_ line: String) {
        let isFirst = state.withLock { state in
            guard state.lines.count < LineWriter.limit else {
                state.dropped += 1
                return false
            }
            state.lines.append(line)
            return state.lines.count == 1
        }
        if isFirst { queue.async { [self] in writeQueued() } }
    }

    /// Waits until everything queued has been written, or has failed to be.
    ///
    /// - Returns: the lines that were dropped, and the error that stopped the writing, if one did.
    @discardableResult
    public func flush() -> (dropped: Int, failure: SystemError?) {
        queue.sync { writeQueued() }
        return state.withLock { ($0.dropped, $0.failure) }
    }

    private func writeQueued() {
        let lines = state.withLock { state in
            defer { state.lines.removeAll() }
            if state.failure == nil { return state.lines }
            state.dropped += state.lines.count
            return []
        }
        guard !lines.isEmpty else { return }
        var text = lines.joined(separator: "\n")
        text.append("\n")
        text.withUTF8 { bytes in
            var written = 0
            while written < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
                if count < 0, errno == EINTR { continue }
                if count <= 0 {
                    let error = SystemError.last("write")
                    state.withLock { state in
                        state.failure = error
                        state.dropped += lines.count
                    }
                    return
                }
                written += count
            }
        }
    }
}
