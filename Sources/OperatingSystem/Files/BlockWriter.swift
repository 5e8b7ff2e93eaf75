import Dispatch
import Glibc
import Synchronization

/// Writes blocks of bytes to a file or a pipe on its own thread, and keeps the newest of a file's. Callers never wait for
/// the disk: blocks that come faster than they are written are dropped and counted.
///
/// A file of limited size is written in two parts, of at most half the limit each. When the second is full it replaces the
/// first, whose name is the path with “.squall-1” and whose pages are the next part's; at the end both are one file again.
public final class BlockWriter: Sendable {
    /// The most bytes that wait for the writer's thread: 8 MiB, or a quarter of a smaller limit.
    public static let bufferSize = 8 << 20
    /// The bytes for which the writer's thread is woken at once, else after `pause`: 256 KiB, and 10 ms, so
    /// that small blocks share a call.
    private static let promptSize = 256 << 10
    private static let pause = DispatchTimeInterval.milliseconds(10)
    /// The least limit of a file: 1 MiB.
    public static let leastLimit: Int64 = 1 << 20

    private struct State: ~Copyable, Sendable {
        var buffer: BlockBuffer
        var dropped = 0
        var failure: SystemError?
        var hasBegun = false
        /// Whether `finish` has been called: further blocks are ignored.
        var isOver = false
    }

    /// What only the writer's thread uses.
    private struct Part: ~Copyable, Sendable {
        var file: BlockFile
        /// The part before it.
        var earlier: BlockFile?
        /// What is being written; empty at other times.
        var buffer: BlockBuffer
        var isClosed = false
    }

    /// That of a file is no symbolic link.
    private let path: String
    private let isFile: Bool
    private let limit: Int64
    private let prompt: Int
    private let state: Mutex<State>
    private let part: Mutex<Part>
    private let prologue: @Sendable (inout BlockBuffer) -> Void
    private let whenFailing: @Sendable (SystemError) -> Void
    private let queue = DispatchQueue(label: "squall.block-writer")

    /// Writes to the file at `path`, which only its owner may read, or to standard output for "-". The file is locked against
    /// other writers, and truncated when `begin` is called.
    ///
    /// - Parameters:
    ///   - limit: the most bytes that a file keeps, `leastLimit` or more; a pipe gets all.
    ///   - filler: a block of a number of bytes that readers skip.
    ///   - prologue: appends what each part begins with, at most 64 KiB; called on the writer's thread.
    ///   - whenFailing: called once, on the writer's thread, when writing has failed for good.
    ///   - whenWaiting: called before waiting for a reader of a FIFO.
    /// - Throws: `SystemError` of open(2) or realpath(3), one that `isLocked`, or ENOENT for an open file without a name.
    public init(
        path: String,
        limit: Int64,
        filler: @escaping @Sendable (_ size: UInt32) -> (head: UInt64, tail: UInt32),
        prologue: @escaping @Sendable (inout BlockBuffer) -> Void,
        whenFailing: @escaping @Sendable (SystemError) -> Void,
        whenWaiting: () -> Void = {}
    ) throws(SystemError) {
        precondition(limit >= BlockWriter.leastLimit, "no room for a part")
        (self.limit, self.prologue, self.whenFailing) = (limit, prologue, whenFailing)
        let descriptor = path == "-" ? STDOUT_FILENO : try BlockWriter.opened(path, whenWaiting)
        isFile = path != "-" && BlockWriter.isRegular(descriptor)
        self.path = isFile ? try BlockWriter.resolved(path, of: descriptor) : path
        let capacity = Int(min(Int64(BlockWriter.bufferSize), limit / 4))
        prompt = min(BlockWriter.promptSize, capacity / 2)
        part = Mutex(Part(file: BlockFile(descriptor, filler: filler), buffer: BlockBuffer(capacity: capacity)))
        state = Mutex(State(buffer: BlockBuffer(capacity: capacity)))
    }

    deinit {
        part.withLock { part in closeFiles(of: part) }
    }

    private func closeFiles(of part: borrowing Part) {
        guard path != "-", !part.isClosed else { return }
        close(part.file.descriptor)
        if let earlier = part.earlier { close(earlier.descriptor) }
    }

    private static func opened(_ path: String, _ whenWaiting: () -> Void) throws(SystemError) -> Int32 {
        let descriptor = try LineWriter.opened(path, permissions: 0o600, whenWaiting)
        // A file that was there may have let others read it. A device or a FIFO is of others too, and stays as it is.
        if isRegular(descriptor) {
            _ = fchmod(descriptor, 0o600)
            // Else pwrite(2) appends.
            _ = fcntl(descriptor, F_SETFL, 0)
        }
        return descriptor
    }

    /// The path of an open file that is no symbolic link, which renaming would replace. Closes a file that has none.
    private static func resolved(_ path: String, of descriptor: Int32) throws(SystemError) -> String {
        var (mine, named) = (stat(), stat())
        func isOwn() -> Bool {
            fstat(descriptor, &mine) == 0 && named.st_ino == mine.st_ino && named.st_dev == mine.st_dev
        }
        // realpath(3) would fail for a relative name below a folder that can't be searched.
        if lstat(path, &named) == 0, isOwn() { return path }
        var error = SystemError(call: "realpath", code: ENOENT)
        if let found = realpath(path, nil) {
            defer { free(found) }
            // What /dev/stdout resolves to may be another file, if its own is deleted or of another mount namespace.
            if stat(found, &named) == 0, isOwn() { return String(cString: found) }
        } else {
            error = .last("realpath")
        }
        close(descriptor)
        throw error
    }

    private static func isRegular(_ descriptor: Int32) -> Bool {
        var facts = stat()
        return fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    }

    /// Empties the file, removes what a killed process has left beside it, and begins to write.
    public func begin() {
        queue.sync {
            state.withLock { $0.hasBegun = true }
            part.withLock { part in
                if part.isClosed { return }
                do throws(SystemError) {
                    if isFile {
                        try part.file.trim()
                        for left in [earlierPath, movedPath] { unlink(left) }
                    }
                    try writePrologue(&part)
                } catch {
                    fail(error)
                }
            }
            writeBlocks()
        }
    }

    /// Appends a block of `size` bytes at most by calling `body`; callable from any thread, never waits.
    ///
    /// - Returns: whether there was room for it.
    @discardableResult
    public func append(size: Int, _ body: (inout BlockBuffer) -> Void) -> Bool {
        let (isTaken, before, after) = state.withLock { state in
            if state.isOver { return (false, 1, 1) }
            guard state.failure == nil, state.buffer.room >= size else {
                state.dropped += 1
                return (false, 1, 1)
            }
            let before = state.buffer.count
            body(&state.buffer)
            return (true, before, state.buffer.count)
        }
        if before < prompt, after >= prompt {
            queue.async { [self] in writeBlocks() }
        } else if before == 0 {
            queue.asyncAfter(deadline: .now() + BlockWriter.pause) { [self] in writeBlocks() }
        }
        return isTaken
    }

    /// Writes what waits, joins the parts, closes the file and frees the buffers. Blocks that come later are ignored. Without
    /// `begin` the file stays as it is. Calling it twice is fine.
    ///
    /// - Returns: the number of dropped blocks, and the error that stopped writing.
    public func finish() -> (dropped: Int, failure: SystemError?) {
        state.withLock { $0.isOver = true }
        queue.sync {
            writeBlocks()
            part.withLock { part in
                if part.isClosed { return }
                do throws(SystemError) {
                    if state.withLock({ $0.hasBegun }) { try joinParts(&part) }
                } catch {
                    fail(error)
                }
                closeFiles(of: part)
                part.isClosed = true
                part.buffer = BlockBuffer(capacity: 0)
            }
            state.withLock { $0.buffer = BlockBuffer(capacity: 0) }
        }
        return state.withLock { ($0.dropped, $0.failure) }
    }

    private func writeBlocks() {
        part.withLock { part in
            // Swapped, so that blocks come in meanwhile.
            state.withLock { if $0.hasBegun { swap(&$0.buffer, &part.buffer) } }
            defer { part.buffer.removeAll() }
            guard part.buffer.count > 0, state.withLock({ $0.failure }) == nil else { return }
            do throws(SystemError) {
                if isFile, part.file.size + Int64(part.buffer.count) > limit / 2 { try beginPart(&part) }
                try write(part.buffer, to: &part.file)
            } catch {
                fail(error)
            }
        }
    }

    private func write(_ blocks: borrowing BlockBuffer, to file: inout BlockFile) throws(SystemError) {
        if isFile { return try file.append(blocks.bytes) }
        if let failure = LineWriter.write(blocks.bytes, to: file.descriptor).failure { throw failure }
    }

    private func writePrologue(_ part: inout Part) throws(SystemError) {
        var bytes = BlockBuffer(capacity: 64 << 10)
        prologue(&bytes)
        try write(bytes, to: &part.file)
    }

    /// The name of the earlier part, and that of a part between its two names: such as no user gives to a file.
    private var earlierPath: String { path + ".squall-1" }
    private var movedPath: String { path + ".squall-2" }

    /// The current part becomes the earlier one, whose file is overwritten.
    private func beginPart(_ part: inout Part) throws(SystemError) {
        try part.file.trim()
        let full = part.file
        if var next = part.earlier {
            try next.reuse()
            try move(earlierPath, movedPath)
            try move(path, earlierPath)
            try move(movedPath, path)
            part.file = next
        } else {
            try move(path, earlierPath)
            part.file = BlockFile(try BlockWriter.opened(path) {}, filler: full.filler)
        }
        part.earlier = full
        try writePrologue(&part)
    }

    private func move(_ path: String, _ next: String) throws(SystemError) {
        guard rename(path, next) == 0 else { throw .last("rename") }
    }

    /// Appends the current part to the earlier one, under the path. If that fails both stay.
    private func joinParts(_ part: inout Part) throws(SystemError) {
        guard isFile else { return }
        try part.file.trim()
        guard let first = part.earlier else { return }
        let input = open(path, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw .last("open") }
        defer { close(input) }
        lseek(first.descriptor, 0, SEEK_END)
        var offset: off_t = 0
        while offset < off_t(part.file.size) {
            let count = sendfile(first.descriptor, input, &offset, Int(part.file.size) - Int(offset))
            guard count > 0 else {
                let error = SystemError.last("sendfile")
                _ = ftruncate(first.descriptor, off_t(first.size))
                throw error
            }
        }
        try move(earlierPath, path)
        close(part.file.descriptor)
        (part.file, part.earlier) = (first, nil)
    }

    private func fail(_ error: SystemError) {
        let isFirst = state.withLock { state in
            defer { state.failure = state.failure ?? error }
            return state.failure == nil
        }
        if isFirst { whenFailing(error) }
    }
}
