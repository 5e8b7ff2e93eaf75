import DurableFiles
import SystemPackage
import Units

/// The object with a number on a simulated disk.
enum Node {
    case file(File)
    case folder(Folder)
}

/// The contents of a file: as shown by the system, as on the disk, and the pending changes.
struct File {
    enum Change {
        case write([UInt8], at: Int)
        case resize(Int)
    }

    var shown: [UInt8] = []
    var durable: [UInt8] = []
    var pending: [Change] = []
    /// The open file that holds the lock.
    var lock: Int?

    mutating func apply(_ change: Change) {
        Self.apply(change, to: &shown)
        pending.append(change)
    }

    /// Shows the disk's contents and pending writes.
    mutating func dropCache() {
        shown = durable
        for change in pending { Self.apply(change, to: &shown) }
    }

    static func apply(_ change: Change, to bytes: inout [UInt8]) {
        switch change {
        case .write(let written, let offset):
            guard !written.isEmpty else { return }
            let missing = offset + written.count - bytes.count
            if missing > 0 { bytes += [UInt8](repeating: 0, count: missing) }
            bytes.replaceSubrange(offset..<(offset + written.count), with: written)
        case .resize(let size):
            if size < bytes.count { bytes.removeLast(bytes.count - size) }
            if size > bytes.count { bytes += [UInt8](repeating: 0, count: size - bytes.count) }
        }
    }
}

/// The names in a folder: as shown by the system, and as on the disk.
struct Folder {
    var names: [String: Int] = [:]
    var durable: [String: Int] = [:]
}

/// A change of names, which becomes durable atomically.
enum NameChange {
    case link(Int, String, Int)
    case unlink(Int, String)
    case move(Int, String, Int, String, Int)

    /// Whether syncing a folder makes the change durable. A move needs the destination folder.
    func isSettled(by folder: Int) -> Bool {
        switch self {
        case .link(let changed, _, _), .unlink(let changed, _), .move(_, _, let changed, _, _): changed == folder
        }
    }
}

extension SimulatedDisk.State {
    /// The number of a path's parent folder, and the last component.
    mutating func place(of path: FilePath) throws(Errno) -> (folder: Int, name: String) {
        let names = names(of: path)
        guard let name = names.last else { throw .invalidArgument }
        return (try node(at: names.dropLast()), name)
    }

    mutating func node(at path: FilePath) throws(Errno) -> Int { try node(at: names(of: path)[...]) }

    private func node(at names: ArraySlice<String>) throws(Errno) -> Int {
        var id = 0
        for name in names {
            guard case .folder(let folder) = nodes[id], let next = folder.names[name] else {
                throw .noSuchFileOrDirectory
            }
            id = next
        }
        return id
    }

    /// The components of a path. Splitting paths takes the most time in debug builds.
    private mutating func names(of path: FilePath) -> [String] {
        if let names = knownPaths[path] { return names }
        let names = path.components.map(\.string)
        knownPaths[path] = names
        return names
    }

    func folder(_ id: Int) -> Folder {
        guard case .folder(let folder) = nodes[id] else { return Folder() }
        return folder
    }

    mutating func handle(_ disk: SimulatedDisk, _ node: Int, _ path: FilePath) -> any OpenFile {
        lastHandle += 1
        openHandles.insert(lastHandle)
        return SimulatedFile(disk: disk, node: node, handle: lastHandle, era: era, path: path)
    }

    mutating func change(_ change: NameChange) {
        apply(change, to: \.names)
        pending.append(change)
    }

    mutating func synchronizeNames(in folder: Int) {
        guard !faults.ignoresSynchronization else { return }
        for change in pending where change.isSettled(by: folder) { apply(change, to: \.durable) }
        pending.removeAll { $0.isSettled(by: folder) }
    }

    private mutating func apply(_ change: NameChange, to names: WritableKeyPath<Folder, [String: Int]>) {
        func update(_ id: Int, _ body: (inout [String: Int]) -> Void) {
            var changed = folder(id)
            body(&changed[keyPath: names])
            nodes[id] = .folder(changed)
        }
        switch change {
        case .link(let folder, let name, let id): update(folder) { $0[name] = id }
        case .unlink(let folder, let name): update(folder) { $0[name] = nil }
        case .move(let from, let oldName, let to, let newName, let id):
            update(from) { $0[oldName] = nil }
            update(to) { $0[newName] = id }
        }
    }

    mutating func nextFate() -> SimulatedDisk.Fate {
        guard !isStopped else { return .fails(SimulatedDisk.stopped, part: 0) }
        calls += 1
        if calls == faults.stop {
            isStopped = true
            return .fails(SimulatedDisk.stopped, part: random.nextFraction())
        }
        if let errno = faults.failures[calls] { return .fails(errno, part: random.nextFraction()) }
        if faults.chance > 0, random.nextFraction() < faults.chance {
            return .fails(random.nextFraction() < 0.5 ? .noSpace : .ioError, part: random.nextFraction())
        }
        return .succeeds
    }

    /// Keeps any subset of the unsynced changes.
    mutating func losePower() {
        for change in pending where random.nextFraction() < 0.5 { apply(change, to: \.durable) }
        pending = []
        for id in nodes.keys.sorted() {
            switch nodes[id] {
            case .folder(var folder):
                folder.names = folder.durable
                nodes[id] = .folder(folder)
            case .file(var file):
                for change in file.pending { settle(change, in: &file.durable) }
                file.shown = file.durable
                file.pending = []
                nodes[id] = .file(file)
            case nil: break
            }
        }
    }

    private mutating func settle(_ change: File.Change, in bytes: inout [UInt8]) {
        switch (change, random.next() % 4) {
        case (_, 0): break
        case (.write(let written, let offset), 1):
            let kept = Int(random.nextFraction() * Double(written.count))
            File.apply(.write(Array(written.prefix(kept)), at: offset), to: &bytes)
        case (.write(let written, let offset), 2):
            let lost = Int(random.nextFraction() * Double(written.count))
            File.apply(.write(Array(written.dropFirst(lost)), at: offset + lost), to: &bytes)
        default: File.apply(change, to: &bytes)
        }
    }
}
