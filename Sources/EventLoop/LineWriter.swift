import Dispatch
import Glibc
import Synchronization
import Units

/// A queue of values that the thread of a `LineWriter` makes lines of.
public protocol LineSource: Sendable {
    /// Empties the queue: appends its lines to `text`, each with its line end. Called on the writer's thread.
    ///
    /// - Returns: the lines, and those that found the queue full since the last call.
    func takeLines(into text: inout String) -> (count: Int, dropped: Int)

    /// Empties the queue without making lines; returns how many are lost, with those that found it full.
    func dropLines() -> Int
}

/// Writes lines to a file, a pipe or a terminal on a thread of its own: logging never waits for a disk.
public final class LineWriter: Sendable {
    /// The lines that wait to be written at most; beyond it lines are dropped and counted.
    public static let limit = 65_536

    private struct State {
        var lines: [String] = []
        var source: (any LineSource)?
        var dropped = 0
        var failure: SystemError?
        /// Whether lines wait for `release`.
        var isHeld = false
        /// Whether the file still has what it had before.
        var hasOldContent = false
    }

    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private let whenFailing: (@Sendable (SystemError) -> Void)?
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "squall.line-writer")

    /// Writes to the file at `path`, which is emptied when the first line is written, and which no other `LineWriter` of any
    /// process has meanwhile; "-" is standard output.
    ///
    /// - Parameters:
    ///   - isHeld: whether nothing is written, and nothing emptied, before `release`.
    ///   - whenFailing: told once, on a thread of the writer's own, if writing has failed and nothing is written any more.
    ///   - whenWaiting: called before this waits because the file is a FIFO that no program reads yet.
    /// - Throws: `SystemError` of open(2), or one that `isLocked`.
    public init(
        path: String,
        isHeld: Bool = false,
        whenFailing: (@Sendable (SystemError) -> Void)? = nil,
        whenWaiting: () -> Void = {}
    ) throws(SystemError) {
        self.whenFailing = whenFailing
        if path == "-" {
            descriptor = STDOUT_FILENO
            ownsDescriptor = false
        } else {
            descriptor = try LineWriter.opened(path, whenWaiting)
            ownsDescriptor = true
        }
        state = Mutex(State(isHeld: isHeld, hasOldContent: ownsDescriptor))
    }

    /// Writes to standard output.
    public init(standardOutput: Void) {
        descriptor = STDOUT_FILENO
        ownsDescriptor = false
        whenFailing = nil
        state = Mutex(State())
    }

    /// Writes to standard error.
    public init(standardError: Void) {
        descriptor = STDERR_FILENO
        ownsDescriptor = false
        whenFailing = nil
        state = Mutex(State())
    }

    /// Writes to `descriptor`, which it closes at its end.
    init(owning descriptor: Int32) {
        self.descriptor = descriptor
        ownsDescriptor = true
        whenFailing = nil
        state = Mutex(State())
    }

    deinit {
        if ownsDescriptor { close(descriptor) }
    }

    /// Opens the file at `path` for lines at its end, and locks it if it is one; a pipe or a terminal may be shared.
    private static func opened(_ path: String, _ whenWaiting: () -> Void) throws(SystemError) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY
        while true {
            var (mine, named) = (stat(), stat())
            var descriptor = open(path, flags | O_NONBLOCK, 0o644)
            if descriptor < 0, errno == ENXIO, stat(path, &named) == 0, named.st_mode & S_IFMT == S_IFIFO {
                whenWaiting()
                descriptor = open(path, flags, 0o644)
            }
            if descriptor < 0 { throw .last("open") }
            _ = fcntl(descriptor, F_SETFL, O_APPEND)
            guard fstat(descriptor, &mine) == 0, mine.st_mode & S_IFMT == S_IFREG else { return descriptor }
            // A file system without locks is no reason not to write.
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                close(descriptor)
                throw SystemError(call: "flock", code: EWOULDBLOCK)
            }
            // Between the opening and the locking whoever had it may have ended, and renamed it.
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

    /// Writes the lines of `source` as well, after those that are queued by `write`.
    public func attach(_ source: any LineSource) {
        state.withLock { $0.source = source }
    }

    /// Has the writer's thread take the lines of the source. To be called when its queue is no longer empty.
    public func sourceHasLines() {
        queue.async { [self] in writeQueued() }
    }

    /// Lets the lines that were held be written, and those that come.
    public func release() {
        state.withLock { $0.isHeld = false }
        queue.async { [self] in writeQueued() }
    }

    /// Waits until everything queued has been written, or has failed to be.
    ///
    /// - Returns: the lines that were dropped, and the error that stopped the writing, if one did.
    @discardableResult
    public func flush() -> (dropped: Int, failure: SystemError?) {
        queue.sync { writeQueued() }
        return state.withLock { ($0.dropped, $0.failure) }
    }

    /// The same, but waits for `patience` at most, where nobody may be left who reads.
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
        // What is no file has no length, which is an error of its own.
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
        let failure = text.withUTF8 { bytes -> SystemError? in
            var written = 0
            while written < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    // Somebody else who has the pipe or the terminal wants it not to block.
                    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&entry, 1, -1)
                    continue
                }
                if count <= 0 { return .last("write") }
                written += count
            }
            return nil
        }
        if let failure { fail(failure, losing: count) }
    }

    private func fail(_ error: SystemError, losing count: Int) {
        state.withLock { state in
            state.failure = error
            state.dropped += count
        }
        whenFailing?(error)
    }
}
