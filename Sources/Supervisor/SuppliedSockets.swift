import CSeccomp
import Dispatch
import EventLoop
import Glibc
import OperatingSystem
import Units

/// The sockets of programs where they can't be duplicated (pidfd_getfd(2)), as in a container without `CAP_SYS_PTRACE`: this
/// process makes them, gives them to the programs that call socket(2), and has them as well until they are connected.
///
/// A socket that is kept here isn't closed when its program closes it. So it is let go when it listens or connects past the
/// proxy, soon after the last process that has it has closed it, and before another one is bound to a port.
final class SuppliedSockets {
    /// The most sockets that are kept at a time, as many as connects that aren't decided.
    private let limit: Int
    /// The sockets made since the last look. With a quarter of `limit` or more of them, none is refused before another look.
    private var made = 0
    /// The most sockets that were let go and aren't connected of which that is known, of two generations each.
    private static let remembered = 32_768
    /// The pauses between two looks for closed sockets: 20 ms after a change, and twice as long each time, up to 1 s.
    private static let pauses = Duration.milliseconds(20)...(.seconds(1))
    /// The rest after a look is at least as many times as long as the look.
    private static let rests = 50

    /// A socket that a program has, and this process as well.
    private struct Kept {
        let descriptor: Int32
        /// The thread that has asked for it, or another process that has it by now, and its descriptor there; `nil` while it is
        /// given.
        var owner: Int32
        var given: Int32?
        /// Left when the thread has it, and only this process's `descriptor` besides is open.
        let giving = DispatchGroup()
        /// Whether bind(2) has given it an address.
        var isBound = false
    }

    /// By the number of the socket's file, which no other socket has.
    private var kept: [UInt64: Kept] = [:]
    /// The sockets that were connected, until another one has their address.
    private var connections: [UInt64: (target: SocketAddress, local: SocketAddress)] = [:]
    private var numbers: [SocketAddress: UInt64] = [:]
    /// The other ones that were let go.
    private var lost: Set<UInt64> = []
    private var olderLost: Set<UInt64> = []
    private var pause = SuppliedSockets.pauses.lowerBound
    /// When to look for closed sockets next.
    private(set) var nextLook = Moment.distantFuture
    /// The end of the rest after the last look.
    private var restsUntil = Moment.zero
    /// The network namespace of this process.
    private let network = SuppliedSockets.number(of: "/proc/self/ns/net")
    /// Whether the socket at an address is connected still.
    private let isConnected: (SocketAddress) -> Bool
    /// A thread for a call that may wait for a program: the one that gives it a descriptor, and close(2) with SO_LINGER. A
    /// concurrent queue would keep the threads of tasks.
    private var waiting: DispatchQueue { DispatchQueue(label: "squall.sockets") }

    init(limit: Int = ConnectSupervisor.limit, isConnected: @escaping (SocketAddress) -> Bool) {
        (self.limit, self.isConnected) = (limit, isConnected)
    }

    deinit {
        for socket in kept.values { close(socket.descriptor) }
    }

    /// Makes a socket as socket(2) does, for a thread. `give` is called with a descriptor of it on another thread, which may
    /// wait, and returns the one that the thread has got, or −errno; `given` takes that, on any thread, for `noteGiven`. Returns
    /// 0 or −errno: ENFILE if too many are kept.
    func supply(
        _ domain: Int32,
        _ type: Int32,
        _ protocolNumber: Int32,
        for thread: Int32,
        at now: Moment,
        give: @escaping @Sendable (Int32) -> Int32,
        given: @escaping @Sendable (UInt64, Int32) -> Void
    ) -> Int32 {
        if kept.count >= limit { lookIfDue(at: now) }
        guard kept.count < limit else { return -ENFILE }
        let flags = Int32(SOCK_CLOEXEC.rawValue)
        var descriptor = socket(domain, type | flags, protocolNumber)
        if descriptor < 0, errno == EMFILE {
            lookIfDue(at: now)
            descriptor = socket(domain, type | flags, protocolNumber)
        }
        guard descriptor >= 0 else { return -errno }
        // The one that is kept may be closed before it is given.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            let code = errno
            close(descriptor)
            return -code
        }
        let (number, socket) = (SuppliedSockets.file(descriptor), Kept(descriptor: descriptor, owner: thread))
        kept[number] = socket
        made += 1
        socket.giving.enter()
        waiting.async {
            let result = give(copy)
            close(copy)
            socket.giving.leave()
            given(number, result)
        }
        noteChange(at: now)
        return 0
    }

    /// Notes the descriptor that a thread has got, or, below 0, that it has got none.
    func noteGiven(_ number: UInt64, as descriptor: Int32) {
        if descriptor < 0 { drop(number) } else { kept[number]?.given = descriptor }
    }

    /// Calls `body`, on any thread, when the sockets are closed here that were let go.
    func whenClosed(_ sockets: [DispatchGroup], _ body: @escaping @Sendable () -> Void) {
        guard !sockets.isEmpty else { return body() }
        waiting.async {
            for socket in sockets { socket.wait() }
            body()
        }
    }

    /// Whether a thread has another network than this process, as far as it can be told.
    func isElsewhere(_ thread: Int32) -> Bool {
        SuppliedSockets.number(of: "/proc/\(thread)/ns/net").map { $0 != network } ?? false
    }

    /// The number of the socket that a thread has under a descriptor; `nil` if it has none there.
    func number(_ descriptor: Int32, of thread: Int32) -> UInt64? {
        SuppliedSockets.number(of: "/proc/\(thread)/fd/\(descriptor)")
    }

    /// Duplicates a socket that is kept; −errno for another one: EBADF if it is connected, EPROTOTYPE if it is none of TCP,
    /// EOPNOTSUPP if it was let go.
    func duplicate(_ number: UInt64) -> Int32 {
        if let socket = kept[number] {
            let copy = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
            return copy < 0 ? -errno : copy
        }
        if let connection = connections[number] { return isConnected(connection.local) ? -EBADF : -EOPNOTSUPP }
        return lost.contains(number) || olderLost.contains(number) ? -EOPNOTSUPP : -EPROTOTYPE
    }

    /// The target of a socket that is connected.
    func target(of number: UInt64) -> SocketAddress? {
        connections[number].flatMap { isConnected($0.local) ? $0.target : nil }
    }

    /// Keeps a socket no longer, which is connected to a target.
    func letGo(_ number: UInt64, connectedTo target: SocketAddress, at local: SocketAddress) {
        guard let socket = kept.removeValue(forKey: number) else { return }
        if let last = numbers.updateValue(number, forKey: local) { connections[last] = nil }
        connections[number] = (target, local)
        waiting.async { close(socket.descriptor) }
    }

    /// Keeps a socket no longer, which can't be redirected from now on.
    func letGo(_ number: UInt64) {
        guard drop(number) else { return }
        if lost.count >= SuppliedSockets.remembered { (olderLost, lost) = (lost, []) }
        lost.insert(number)
    }

    @discardableResult private func drop(_ number: UInt64) -> Bool {
        guard let socket = kept.removeValue(forKey: number) else { return false }
        close(socket.descriptor)
        return true
    }

    /// Notes that a thread binds a socket, to a port or to a free one. Returns what `whenClosed` waits for before it may do so.
    func noteBinding(_ descriptor: Int32, of thread: Int32, hasPort: Bool) -> [DispatchGroup] {
        let closed = hasPort ? letGoOfClosed { $0.isBound } : []
        if let number = number(descriptor, of: thread) {
            kept[number]?.isBound = true
            // It has it, whether that was noted or not.
            kept[number]?.owner = thread
            kept[number]?.given = descriptor
        }
        return closed.map(\.giving)
    }

    /// Notes that a program may close a socket soon.
    func noteChange(at now: Moment) {
        pause = SuppliedSockets.pauses.lowerBound
        nextLook = min(nextLook, max(now + pause, restsUntil))
    }

    /// Keeps no longer what no process has any more; returns whether there is such a socket.
    @discardableResult func look(at now: Moment) -> Bool {
        let (began, count) = (MonotonicClock.now, kept.count)
        made = 0
        letGoOfClosed { _ in true }
        pause = min(pause * 2, SuppliedSockets.pauses.upperBound)
        restsUntil = now + (MonotonicClock.now - began) * SuppliedSockets.rests
        nextLook = kept.isEmpty ? .distantFuture : max(now + pause, restsUntil)
        return kept.count < count
    }

    private func lookIfDue(at now: Moment) {
        if nextLook <= now || made >= limit / 4 { look(at: now) }
    }

    @discardableResult private func letGoOfClosed(_ isMeant: (Kept) -> Bool) -> [Kept] {
        let missing = kept.filter { number, socket in
            guard isMeant(socket), let given = socket.given else { return false }
            return self.number(given, of: socket.owner) != number
        }
        guard !missing.isEmpty else { return [] }
        // They may have other descriptors by now, or other processes.
        let owners = Owners(of: Set(missing.keys), last: Set(missing.values.map(\.owner)))
        var closed: [Kept] = []
        for (number, socket) in missing {
            if let owner = owners.found[number] {
                kept[number]?.owner = owner.thread
                kept[number]?.given = owner.descriptor
            } else if !owners.isIncomplete {
                letGo(number)
                closed.append(socket)
            }
        }
        return closed
    }

    /// The number of the file of a descriptor of this process.
    private static func file(_ descriptor: Int32) -> UInt64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    /// The number in a link of proc(5) such as `socket:[42]` or `net:[42]`; `nil` for another one, or none.
    fileprivate static func number(of path: String) -> UInt64? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { room in
            guard let start = room.baseAddress else { return nil }
            let count = readlink(path, start, room.count)
            guard count > 0 else { return nil }
            let text = String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
            guard text.hasSuffix("]"), let opening = text.firstIndex(of: "["),
                text.hasPrefix("socket:") || text.hasPrefix("net:")
            else { return nil }
            return UInt64(text[text.index(after: opening)...].dropLast())
        }
    }
}

/// A search for the processes that have sockets, by proc(5).
private struct Owners {
    /// The threads that have them, and their descriptors there.
    private(set) var found: [UInt64: (thread: Int32, descriptor: Int32)] = [:]
    /// Whether a process couldn't be looked at.
    private(set) var isIncomplete = false
    private let wanted: Set<UInt64>
    private var searched: Set<Int32> = []
    /// Whether a process has ended, so that others have its children, or the kernel doesn't tell them.
    private var isCut = false

    /// Searches for `wanted` in the processes of the threads that had them last, and in those that they have started; then below
    /// this process, whose guards have adopted their orphans, and in all if a process has ended.
    init(of wanted: Set<UInt64>, last threads: Set<Int32>) {
        self.wanted = wanted
        for thread in threads { search(thread, isLikely: true) }
        for thread in NumericNames.of("/proc/self/task") ?? [] where !isDone {
            for child in children(of: thread, in: getpid()) { search(child, isLikely: false) }
        }
        guard isCut, !isDone else { return }
        for process in NumericNames.of("/proc") ?? [] { search(process, isLikely: false) }
    }

    private var isDone: Bool { found.count == wanted.count }

    /// Searches the threads of a process, and the processes that they have started.
    private mutating func search(_ process: Int32, isLikely: Bool) {
        // This process has all of them.
        guard process != getpid(), !searched.contains(process) else { return }
        guard let threads = NumericNames.of("/proc/\(process)/task") else {
            isCut = true
            return
        }
        // Each may have descriptors of its own.
        for thread in threads where searched.insert(thread).inserted {
            look(at: thread, isLikely: isLikely)
            for child in children(of: thread, in: process) { search(child, isLikely: isLikely) }
        }
    }

    private mutating func look(at thread: Int32, isLikely: Bool) {
        guard let descriptors = NumericNames.of("/proc/\(thread)/fd") else {
            switch errno {
            case ENOENT, ESRCH: isCut = true
            // Another user's, which hasn't got them.
            case EACCES, EPERM: isIncomplete = isIncomplete || isLikely
            default: isIncomplete = true
            }
            return
        }
        for descriptor in descriptors {
            guard let number = SuppliedSockets.number(of: "/proc/\(thread)/fd/\(descriptor)"), wanted.contains(number)
            else { continue }
            found[number] = (thread, descriptor)
        }
    }

    /// The processes that a thread has started (proc_tid_children(5)).
    private mutating func children(of thread: Int32, in process: Int32) -> [Int32] {
        let file = open("/proc/\(process)/task/\(thread)/children", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            isCut = true
            return []
        }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 65_536) { room in
            let count = read(file, room.baseAddress, room.count)
            guard count > 0 else { return [] }
            let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<count])
            let text = String(decoding: bytes, as: UTF8.self)
            return text.split(separator: " ").compactMap { Int32($0) }
        }
    }
}
