import Dispatch
import Glibc
import Synchronization
import Units

/// A queue of values that the thread of a `LineWriter` encodes.
public protocol LineSource: Sendable {
    /// Empties the queue and appends its lines to `text`, each with its line end. Called on the writer's thread.
    ///
    /// - Returns: the number of lines, and of those dropped since the last call because the queue was full.
    func takeLines(into text: inout String) -> (count: Int, dropped: Int)

    /// Empties the queue without encoding; returns the number of lost lines, dropped ones included.
    func dropLines() -> Int
}

/// Writes lines to a file, a pipe or a terminal on its own thread, so that callers never wait for the disk.
public final class LineWriter: Sendable {
    /// The most queued lines; beyond it lines are dropped and counted.
    public static let limit = 65_536

    private struct State {
        var lines: [String] = []
        var source: (any LineSource)?
        var dropped = 0
        var failure: SystemError?
        /// Whether lines wait for `release`.
        var isHeld = false
        /// Whether the file still has its old content.
        var hasOldContent = false
    }

    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private let whenFailing: (@Sendable (SystemError) -> Void)?
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "squall.line-writer")

    /// Writes to the file at `path`, or to standard output for "-". The file is locked against other writers, and truncated
    /// when the first line is written.
    ///
    /// - Parameters:
    ///   - isHeld: whether writing starts only after `release`.
    ///   - whenFailing: called once, on the writer's thread, when writing has failed for good.
    ///   - whenWaiting: called before waiting for a reader of a FIFO.
    /// - Throws: `SystemError` of open(2), or one that `isLocked`.
    public convenience init(
        path: String,
        isHeld: Bool = false,
        whenFailing: (@Sendable (SystemError) -> Void)? = nil,
        whenWaiting: () -> Void = {}
    ) throws(SystemError) {
        let isFile = path != "-"
        let descriptor = try isFile ? LineWriter.opened(path, whenWaiting) : STDOUT_FILENO
        self.init(descriptor, isOwned: isFile, State(isHeld: isHeld, hasOldContent: isFile), whenFailing)
    }

    /// Writes to standard output.
    public convenience init(standardOutput: Void) { self.init(STDOUT_FILENO, isOwned: false) }

    /// Writes to standard error.
    public convenience init(standardError: Void) { self.init(STDERR_FILENO, isOwned: false) }

    /// Writes to `descriptor` and closes it at the end.
    convenience init(owning descriptor: Int32) { self.init(descriptor, isOwned: true) }

    private init(
        _ descriptor: Int32,
        isOwned: Bool,
        _ state: State = State(),
        _ whenFailing: (@Sendable (SystemError) -> Void)? = nil
    ) {
        (self.descriptor, ownsDescriptor, self.whenFailing) = (descriptor, isOwned, whenFailing)
        self.state = Mutex(state)
    }

    deinit {
        if ownsDescriptor { close(descriptor) }
    }

    /// Opens the file at `path` for appending and locks it; pipes and terminals aren't locked. A new file gets `permissions`.
    static func opened(
        _ path: String,
        permissions: mode_t = 0o644,
        _ whenWaiting: () -> Void
    ) throws(SystemError) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY
        while true {
            var (mine, named) = (stat(), stat())
            var descriptor = open(path, flags | O_NONBLOCK, permissions)
            if descriptor < 0, errno == ENXIO, stat(path, &named) == 0, named.st_mode & S_IFMT == S_IFIFO {
                whenWaiting()
                descriptor = open(path, flags, 0o644)
            }
            if descriptor < 0 { throw .last("open") }
            _ = fcntl(descriptor, F_SETFL, O_APPEND)
            guard fstat(descriptor, &mine) == 0, mine.st_mode & S_IFMT == S_IFREG else { return descriptor }
            // A file system without locks is accepted.
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                close(descriptor)
                throw SystemError(call: "flock", code: EWOULDBLOCK)
            }
            // The file may have been renamed between opening and locking.
            if stat(path, &named) == 0, named.st_ino == mine.st_ino, named.st_dev == mine.st_dev { return descriptor }
            close(descriptor)
        }
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

    /// Writes `bytes` as they are, after the queued lines. Waits until they are written or have failed.
    public func write(bytes: [UInt8]) {
        queue.sync {
            writeQueued()
            guard state.withLock({ $0.failure == nil }) else { return }
            if let failure = bytes.withUnsafeBytes({ LineWriter.write($0, to: descriptor).failure }) {
                fail(failure, losing: 1)
            }
        }
    }

    /// Writes the lines of `source` as well, after those that are queued by `write`.
    public func attach(_ source: any LineSource) {
        state.withLock { $0.source = source }
    }

    /// Wakes the writer's thread for the lines of the source. To be called when its queue is no longer empty.
    public func sourceHasLines() {
        queue.async { [self] in writeQueued() }
    }

    /// Starts writing held and further lines.
    public func release() {
        state.withLock { $0.isHeld = false }
        queue.async { [self] in writeQueued() }
    }

    /// Waits until all queued lines have been written or have failed.
    ///
    /// - Returns: the number of dropped lines, and the error that stopped writing.
    @discardableResult
    public func flush() -> (dropped: Int, failure: SystemError?) {
        queue.sync { writeQueued() }
        return state.withLock { ($0.dropped, $0.failure) }
    }

    /// The same, but waits for `patience` at most, because a reader may be gone.
    public func flush(within patience: Duration) {
        let isWritten = DispatchSemaphore(value: 0)
        queue.async { [self] in
            writeQueued()
            isWritten.signal()
        }
        _ = isWritten.wait(timeout: .now() + .nanoseconds(Int(patience.nanoseconds)))
    }

    /// What there is to write, taken from the state.
    private struct Batch {
        var lines: [String] = []
        var source: (any LineSource)?
        /// Whether the file is to be emptied first.
        var empties = false
    }

    private func takeBatch() -> Batch {
        state.withLock { state in
            if state.isHeld { return Batch() }
            defer {
                state.lines.removeAll()
                state.hasOldContent = false
            }
            if state.failure == nil {
                return Batch(lines: state.lines, source: state.source, empties: state.hasOldContent)
            }
            state.dropped += state.lines.count + (state.source?.dropLines() ?? 0)
            return Batch()
        }
    }

    private func writeQueued() {
        let batch = takeBatch()
        // Pipes and terminals can't be truncated.
        if batch.empties, ftruncate(descriptor, 0) != 0, errno != EINVAL {
            return fail(.last("ftruncate"), losing: batch.lines.count + (batch.source?.dropLines() ?? 0))
        }
        var text = batch.lines.map { $0 + "\n" }.joined()
        var count = batch.lines.count
        if let source = batch.source {
            let taken = source.takeLines(into: &text)
            count += taken.count
            if taken.dropped > 0 { state.withLock { $0.dropped += taken.dropped } }
        }
        guard count > 0 else { return }
        let failure = text.withUTF8 { LineWriter.write(UnsafeRawBufferPointer($0), to: descriptor).failure }
        if let failure { fail(failure, losing: count) }
    }

    /// Writes all bytes to a descriptor, which may be non-blocking because another process has made it so.
    ///
    /// - Returns: the bytes that were written, and the error that stopped it.
    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> (count: Int, failure: SystemError?) {
        var written = 0
        while written < bytes.count {
            let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, -1)
                continue
            }
            if count <= 0 { return (written, .last("write")) }
            written += count
        }
        return (written, nil)
    }

    private func fail(_ error: SystemError, losing count: Int) {
        state.withLock { state in
            state.failure = error
            state.dropped += count
        }
        whenFailing?(error)
    }
}
