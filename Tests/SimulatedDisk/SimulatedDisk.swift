import DurableFiles
import Synchronization
import SystemPackage
import Units

/// A disk that keeps only what was synchronized: a power cut loses, reorders and tears the rest.
///
/// Everything that happens to it follows from a seed. A call fails when its number is in `failures`, or by chance; the
/// machine stops in the middle of the call whose number is `stop`, and every call after it fails until `restart`.
public final class SimulatedDisk: FileSystem {
    /// What is lost when the machine stops.
    public enum Loss: Sendable {
        /// The process was killed: the system still has everything.
        case process
        /// The power was cut: what wasn't synchronized may be lost in any part.
        case power
    }

    /// What happens to calls.
    public struct Faults: Sendable {
        /// The number of the call in which the machine stops, from 1.
        public var stop: Int?
        /// The numbers of calls that fail, and how.
        public var failures: [Int: Errno] = [:]
        /// The chance that any call fails, 0 to 1.
        public var chance = 0.0
        /// Whether synchronizing does nothing, as on a disk that lies.
        public var ignoresSynchronization = false

        /// Makes the faults; nothing goes wrong if nothing is said.
        public init(stop: Int? = nil, failures: [Int: Errno] = [:], chance: Double = 0) {
            self.stop = stop
            self.failures = failures
            self.chance = chance
        }
    }

    /// What a call does before it returns or fails.
    enum Fate {
        case succeeds
        /// The call fails; a part of it, from 0 to 1, has been done.
        case fails(Errno, part: Double)
    }

    /// The error of every call after the machine has stopped.
    static let stopped = Errno(rawValue: 10_000)

    let state: Mutex<State>

    struct State {
        var nodes: [Int: Node] = [0: .folder(Folder())]
        var lastNode = 0
        /// Changes to folders that aren't on the disk, in their order.
        var pending: [NameChange] = []
        var faults: Faults
        var random: SeededGenerator
        var calls = 0
        var isStopped = false
        /// How often the machine was started: what was opened before is closed.
        var era = 0
        var lastHandle = 0
        var openHandles: Set<Int> = []
        var knownPaths: [FilePath: [String]] = [:]
    }

    /// Makes an empty disk.
    public init(seed: UInt64, faults: Faults = Faults()) {
        state = Mutex(State(faults: faults, random: SeededGenerator(seed: seed)))
    }

    /// The number of calls up to now.
    public var calls: Int { state.withLock { $0.calls } }
    /// The number of files that are open.
    public var openFiles: Int { state.withLock { $0.openHandles.count } }
    /// Whether the machine has stopped.
    public var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Changes what happens to later calls. A stop is counted from now.
    public func setFaults(_ faults: Faults) {
        state.withLock { state in
            state.faults = faults
            state.faults.stop = faults.stop.map { $0 + state.calls }
        }
    }

    /// Starts the machine again after what has happened to it.
    public func restart(after loss: Loss) {
        state.withLock { state in
            state.isStopped = false
            state.faults = Faults()
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

    /// Opens a file; the name of a new one is lost with the power until its folder is synchronized.
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

    /// Changes a name in one step, which the power can take back until the folder of the new name is synchronized.
    public func rename(_ old: FilePath, to new: FilePath) throws(FileError) {
        try call("rename", new) { state throws(Errno) in
            let (oldFolder, oldName) = try state.place(of: old)
            let (newFolder, newName) = try state.place(of: new)
            guard let id = state.folder(oldFolder).names[oldName] else { throw .noSuchFileOrDirectory }
            if let there = state.folder(newFolder).names[newName], case .folder = state.nodes[there] {
                throw .isDirectory
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

    /// The names as the system shows them.
    public func names(in folder: FilePath) throws(FileError) -> [String] {
        try call("readdir", folder) { state throws(Errno) in
            let node = try state.node(at: folder)
            return state.folder(node).names.keys.sorted()
        }
    }

    /// The kind as the system shows it; there are no links.
    public func kind(of path: FilePath) throws(FileError) -> FileKind? {
        try call("lstat", path) { state throws(Errno) in
            guard let id = try? state.node(at: path) else { return nil }
            guard case .file = state.nodes[id] else { return .folder }
            return .regular
        }
    }

    /// Brings all changes to names in the folder to the disk.
    public func synchronizeFolder(_ path: FilePath) throws(FileError) {
        try call("fsync", path) { state throws(Errno) in
            let node = try state.node(at: path)
            state.synchronizeNames(in: node)
        }
    }

    /// Runs a call that either happens or doesn't, as the faults say; `change` sees whether it is the last.
    func call<Result>(
        _ name: String,
        _ path: FilePath,
        _ body: (inout State) throws(Errno) -> Result
    ) throws(FileError) -> Result {
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
