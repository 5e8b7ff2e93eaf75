import DurableFiles
import Synchronization
import SystemPackage
import Units

/// A disk that keeps only synced data: a power cut loses, reorders and tears the rest.
///
/// Deterministic by seed. A call fails when its number is in `failures`, or by chance; the machine crashes in the
/// middle of call number `stop`, and every later call fails until `restart`.
public final class SimulatedDisk: FileSystem {
    /// What a crash loses.
    public enum Loss: Sendable {
        /// Nothing: only the process was killed.
        case process
        /// Any subset of unsynced data: the power was cut.
        case power
    }

    /// The faults of calls.
    public struct Faults: Sendable {
        /// The number of the call in which the machine crashes, from 1.
        public var stop: Int?
        /// The numbers of failing calls and their errors.
        public var failures: [Int: Errno] = [:]
        /// The probability that a call fails, 0 to 1.
        public var chance = 0.0
        /// Whether syncing has no effect, as on a lying disk.
        public var ignoresSynchronization = false

        /// Makes the faults; none by default.
        public init(stop: Int? = nil, failures: [Int: Errno] = [:], chance: Double = 0) {
            self.stop = stop
            self.failures = failures
            self.chance = chance
        }
    }

    /// Called before a call with its name, its path and the offset of a write; throws the error to inject.
    public typealias Hook = @Sendable (_ call: String, _ path: FilePath, _ offset: Int64?) throws(FileError) -> Void

    /// What a call does before it returns or fails.
    enum Fate {
        case succeeds
        /// The call fails after a part of it, from 0 to 1, was done.
        case fails(Errno, part: Double)
    }

    /// The error of every call after a crash.
    static let stopped = Errno(rawValue: 10_000)

    let state: Mutex<State>

    struct State {
        var nodes: [Int: Node] = [0: .folder(Folder())]
        var lastNode = 0
        /// Pending folder changes, in order.
        var pending: [NameChange] = []
        var faults: Faults
        var hook: Hook?
        var random: SeededGenerator
        var calls = 0
        var isStopped = false
        /// The number of starts; files opened before the last one are closed.
        var era = 0
        var lastHandle = 0
        var openHandles: Set<Int> = []
        var knownPaths: [FilePath: [String]] = [:]
    }

    /// Makes an empty disk.
    public init(seed: UInt64, faults: Faults = Faults()) {
        state = Mutex(State(faults: faults, random: SeededGenerator(seed: seed)))
    }

    /// Makes a disk with durable folders.
    public convenience init(seed: UInt64, folders: FilePath...) throws(FileError) {
        self.init(seed: seed)
        for folder in folders { try makeFolder(folder) }
        try synchronizeFolder("/")
    }

    /// The number of calls so far.
    public var calls: Int { state.withLock { $0.calls } }
    /// The number of open files.
    public var openFiles: Int { state.withLock { $0.openHandles.count } }
    /// Whether the machine has crashed.
    public var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Changes the faults of later calls. `stop` counts from now.
    public func setFaults(_ faults: Faults) {
        state.withLock { state in
            state.faults = faults
            state.faults.stop = faults.stop.map { $0 + state.calls }
        }
    }

    /// Calls `hook` before each call until the next restart.
    public func beforeCalls(_ hook: @escaping Hook) { state.withLock { $0.hook = hook } }

    /// Calls the hook, outside the lock.
    func willCall(_ name: String, _ path: FilePath, at offset: Int64? = nil) throws(FileError) {
        try state.withLock { $0.hook }?(name, path, offset)
    }

    /// The bytes of a file as shown by the system; `nil` where there is none.
    public func bytes(of path: FilePath) throws(FileError) -> [UInt8]? {
        guard try kind(of: path) != nil else { return nil }
        let file = try open(path, .reading)
        defer { file.close() }
        return try file.read(Int(file.size()), at: 0)
    }

    /// Restarts the machine after a crash.
    public func restart(after loss: Loss) {
        state.withLock { state in
            state.isStopped = false
            state.faults = Faults()
            state.hook = nil
            state.era += 1
            state.openHandles = []
            for id in state.nodes.keys {
                guard case .file(var file) = state.nodes[id] else { continue }
                file.lock = nil
                state.nodes[id] = .file(file)
            }
            if loss == .power { state.losePower() }
        }
    }

    // MARK: - FileSystem

    /// Opens a file; a power cut loses a new name until its folder is synced.
    public func open(_ path: FilePath, _ mode: FileOpening) throws(FileError) -> any OpenFile {
        try call("open", path) { state throws(Errno) in
            if mode == .anonymous {
                guard case .folder = state.nodes[try state.node(at: path)] else { throw .notDirectory }
                state.lastNode += 1
                state.nodes[state.lastNode] = .file(File())
                return state.handle(self, state.lastNode, path)
            }
            let (folder, name) = try state.place(of: path)
            let found = state.folder(folder).names[name]
            switch (mode, found) {
            case (.creating, .some), (.creatingPrivately, .some): throw .fileExists
            case (.creating, nil), (.creatingPrivately, nil):
                state.lastNode += 1
                let id = state.lastNode
                state.nodes[id] = .file(File())
                state.change(.link(folder, name, id))
                return state.handle(self, id, path)
            case (_, nil): throw .noSuchFileOrDirectory
            case (_, .some(let id)):
                guard case .file = state.nodes[id] else { throw .isDirectory }
                return state.handle(self, id, path)
            }
        }
    }

    /// Renames atomically; a power cut may undo it until the destination folder is synced.
    public func rename(_ old: FilePath, to new: FilePath, replaces: Bool) throws(FileError) {
        try call("rename", new) { state throws(Errno) in
            let (oldFolder, oldName) = try state.place(of: old)
            let (newFolder, newName) = try state.place(of: new)
            guard let id = state.folder(oldFolder).names[oldName] else { throw .noSuchFileOrDirectory }
            if let there = state.folder(newFolder).names[newName] {
                guard replaces else { throw .fileExists }
                if case .folder = state.nodes[there] { throw .isDirectory }
            }
            state.change(.move(oldFolder, oldName, newFolder, newName, id))
        }
    }

    /// Removes a name.
    public func remove(_ path: FilePath) throws(FileError) {
        try call("unlink", path) { state throws(Errno) in
            let (folder, name) = try state.place(of: path)
            guard let id = state.folder(folder).names[name] else { throw .noSuchFileOrDirectory }
            guard case .file = state.nodes[id] else { throw .isDirectory }
            state.change(.unlink(folder, name))
        }
    }

    /// Makes a folder.
    public func makeFolder(_ path: FilePath) throws(FileError) {
        try call("mkdir", path) { state throws(Errno) in
            let (folder, name) = try state.place(of: path)
            if let id = state.folder(folder).names[name] {
                guard case .folder = state.nodes[id] else { throw .fileExists }
                return
            }
            state.lastNode += 1
            state.nodes[state.lastNode] = .folder(Folder())
            state.change(.link(folder, name, state.lastNode))
        }
    }

    /// The names as shown by the system.
    public func names(in folder: FilePath) throws(FileError) -> [String] {
        try call("readdir", folder) { state throws(Errno) in
            let node = try state.node(at: folder)
            return state.folder(node).names.keys.sorted()
        }
    }

    /// The kind as shown by the system; there are no links.
    public func kind(of path: FilePath) throws(FileError) -> FileKind? {
        try call("lstat", path) { state throws(Errno) in
            guard let id = try? state.node(at: path) else { return nil }
            guard case .file = state.nodes[id] else { return .folder }
            return .regular
        }
    }

    /// Makes all name changes in the folder durable.
    public func synchronizeFolder(_ path: FilePath) throws(FileError) {
        try call("fsync", path) { state throws(Errno) in
            let node = try state.node(at: path)
            state.synchronizeNames(in: node)
        }
    }

    /// Runs an all-or-nothing call with faults; `change` learns whether it is the last.
    func call<Result>(
        _ name: String,
        _ path: FilePath,
        _ body: (inout State) throws(Errno) -> Result
    ) throws(FileError) -> Result {
        try willCall(name, path)
        do throws(Errno) {
            return try state.withLock { state throws(Errno) in
                switch state.nextFate() {
                case .succeeds: return try body(&state)
                case .fails(let errno, let part):
                    if state.isStopped, part > 0.5 { _ = try? body(&state) }
                    throw errno
                }
            }
        } catch {
            throw FileError(call: name, path: path, errno: error)
        }
    }
}
