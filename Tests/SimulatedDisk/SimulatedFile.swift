import DurableFiles
import Synchronization
import SystemPackage

/// An open file of a simulated disk.
final class SimulatedFile: OpenFile {
    private let disk: SimulatedDisk
    private let node: Int
    private let handle: Int
    private let era: Int
    private let path: FilePath
    private let hasFailed = Mutex(false)

    init(disk: SimulatedDisk, node: Int, handle: Int, era: Int, path: FilePath) {
        self.disk = disk
        self.node = node
        self.handle = handle
        self.era = era
        self.path = path
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws(FileError) {
        try change("pwrite", at: offset) { file, part in
            let count = part.map { Int(Double(bytes.count) * $0) } ?? bytes.count
            file.apply(.write(Array(bytes.prefix(count)), at: Int(offset)))
        }
    }

    func read(_ count: Int, at offset: Int64) throws(FileError) -> [UInt8] {
        try look("pread") { Array($0.shown.dropFirst(Int(offset)).prefix(count)) }
    }

    func size() throws(FileError) -> Int64 {
        try look("fstat") { Int64($0.shown.count) }
    }

    func resize(to size: Int64) throws(FileError) {
        try change("ftruncate") { file, part in
            if (part ?? 1) > 0.5 { file.apply(.resize(Int(size))) }
        }
    }

    func synchronizeData() throws(FileError) {
        guard !hasFailed.withLock({ $0 }) else { throw FileError(call: "fdatasync", path: path, errno: .ioError) }
        let ignores = disk.state.withLock { $0.faults.ignoresSynchronization }
        do throws(FileError) {
            try change("fdatasync") { file, part in
                // After a failed sync the system considers the rest clean: no later call writes it.
                let kept = part.map { Int(Double(file.pending.count) * $0) } ?? file.pending.count
                guard !ignores else { return }
                for change in file.pending.prefix(kept) { File.apply(change, to: &file.durable) }
                file.pending = []
            }
        } catch {
            hasFailed.withLock { $0 = true }
            throw error
        }
    }

    func dropCache() throws(FileError) {
        try change("posix_fadvise") { file, part in
            if part == nil { file.dropCache() }
        }
    }

    func lock() throws(FileError) {
        let isMine = try disk.call("flock", path) { [node, handle] state throws(Errno) in
            guard case .file(var file) = state.nodes[node] else { throw .badFileDescriptor }
            guard file.lock == nil || file.lock == handle else { return false }
            file.lock = handle
            state.nodes[node] = .file(file)
            return true
        }
        guard isMine else { throw FileError(call: "flock", path: path, errno: .wouldBlock) }
    }

    func hasName(_ path: FilePath) throws(FileError) -> Bool {
        try disk.call("lstat", path) { [node] state in (try? state.node(at: path)) == node }
    }

    /// Does nothing: there are no permissions.
    func copyPermissions(of path: FilePath) throws(FileError) {
        try look("fchmod") { _ in }
    }

    func close() {
        disk.state.withLock { state in
            state.openHandles.remove(handle)
            guard state.era == era, case .file(var file) = state.nodes[node], file.lock == handle else { return }
            file.lock = nil
            state.nodes[node] = .file(file)
        }
    }

    private func look<Result>(_ call: String, _ body: (File) -> Result) throws(FileError) -> Result {
        try disk.call(call, path) { [node, era] state throws(Errno) in
            guard state.era == era, case .file(let file) = state.nodes[node] else { throw .badFileDescriptor }
            return body(file)
        }
    }

    /// Changes the file; the second argument is the completed fraction of a failing call, 0 to 1.
    private func change(_ call: String, at offset: Int64? = nil, _ body: (inout File, Double?) -> Void)
        throws(FileError)
    {
        try disk.willCall(call, path, at: offset)
        let errno: Errno? = disk.state.withLock { state in
            guard state.era == era, case .file(var file) = state.nodes[node] else { return .badFileDescriptor }
            let wasStopped = state.isStopped
            switch state.nextFate() {
            case .succeeds:
                body(&file, nil)
                state.nodes[node] = .file(file)
                return nil
            case .fails(let errno, let part):
                if !wasStopped {
                    // A machine that crashes in this call has no later calls, so its effect stays pending.
                    if !(state.isStopped && call == "fdatasync") { body(&file, part) }
                    state.nodes[node] = .file(file)
                }
                return errno
            }
        }
        if let errno { throw FileError(call: call, path: path, errno: errno) }
    }
}
