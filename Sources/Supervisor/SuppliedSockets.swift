import CSeccomp
import EventLoop
import Glibc

/// The sockets of programs where they can't be duplicated (pidfd_getfd(2)), as in a container without `CAP_SYS_PTRACE`: this
/// process makes them, gives them to the programs that call socket(2), and has them as well until they are connected.
///
/// A socket that is kept here isn't closed when its program closes it. So it is let go when it listens, within a second when no
/// process has it any more, and before another one is bound, which may want its address.
final class SuppliedSockets {
    /// The most sockets that are kept at a time, as many as connects that aren't decided.
    static let limit = ConnectSupervisor.limit
    /// The most sockets that aren't kept any more whose fate is remembered, of two generations each.
    private static let remembered = 32_768

    /// A socket that a program has, and this process as well.
    private struct Kept {
        let descriptor: Int32
        /// A process that has it, and its descriptor there.
        let process: Int32
        let given: Int32
        /// Whether bind(2) has given it an address.
        var isBound = false
    }

    /// What has become of a socket.
    private enum Fate {
        /// It was connected to a target, at an address of its own.
        case connected(SocketAddress, local: SocketAddress)
        /// It was let go before, and can't be redirected.
        case letGo
    }

    /// Whether the socket at an address is connected still.
    private let isConnected: (SocketAddress) -> Bool

    /// By the number of the socket's file, which no other socket has.
    private var kept: [UInt64: Kept] = [:]
    private var fates: [UInt64: Fate] = [:]
    private var olderFates: [UInt64: Fate] = [:]
    /// The network namespace of this process.
    private let network = SuppliedSockets.number(of: "/proc/self/ns/net")

    init(isConnected: @escaping (SocketAddress) -> Bool) { self.isConnected = isConnected }

    deinit {
        for socket in kept.values { close(socket.descriptor) }
    }

    var isEmpty: Bool { kept.isEmpty }

    /// Makes a socket as socket(2) does, for a process, to which `give` gives it: it returns the descriptor there, or −errno.
    /// Returns 0 or −errno, ENFILE if too many are kept.
    func supply(
        _ domain: Int32,
        _ type: Int32,
        _ protocolNumber: Int32,
        for process: Int32,
        _ give: (Int32) -> Int32
    ) -> Int32 {
        if kept.count >= SuppliedSockets.limit { letGoOfClosed() }
        guard kept.count < SuppliedSockets.limit else { return -ENFILE }
        let flags = Int32(SOCK_CLOEXEC.rawValue)
        var descriptor = socket(domain, type | flags, protocolNumber)
        if descriptor < 0, errno == EMFILE {
            letGoOfClosed()
            descriptor = socket(domain, type | flags, protocolNumber)
        }
        guard descriptor >= 0 else { return -errno }
        let given = give(descriptor)
        guard given >= 0 else {
            close(descriptor)
            return given
        }
        let number = SuppliedSockets.file(descriptor)
        kept[number] = Kept(descriptor: descriptor, process: process, given: given)
        return 0
    }

    /// Whether a thread has the network of this process, and not one of its own.
    func isOfThisNetwork(_ thread: Int32) -> Bool { SuppliedSockets.number(of: "/proc/\(thread)/ns/net") == network }

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
        return switch fate(of: number) {
        case nil: -EPROTOTYPE
        case .connected(_, let local)?: isConnected(local) ? -EBADF : -EOPNOTSUPP
        case .letGo?: -EOPNOTSUPP
        }
    }

    /// The target of a socket that is connected.
    func target(of number: UInt64) -> SocketAddress? {
        guard case .connected(let target, let local)? = fate(of: number), isConnected(local) else { return nil }
        return target
    }

    /// Keeps a socket no longer, which is connected to a target, or can't be redirected from now on.
    func letGo(_ number: UInt64, connectedTo target: SocketAddress? = nil, at local: SocketAddress? = nil) {
        guard let socket = kept.removeValue(forKey: number) else { return }
        if fates.count >= SuppliedSockets.remembered { (olderFates, fates) = (fates, [:]) }
        fates[number] = if let target, let local { .connected(target, local: local) } else { .letGo }
        close(socket.descriptor)
    }

    /// Notes that a thread binds or opens a socket.
    func note(_ descriptor: Int32, of thread: Int32, listens: Bool) {
        letGoOfClosed { $0.isBound }
        guard let number = number(descriptor, of: thread) else { return }
        if listens { letGo(number) } else { kept[number]?.isBound = true }
    }

    /// Keeps no longer what no process has any more, of all or of some.
    func letGoOfClosed() { letGoOfClosed { _ in true } }

    private func letGoOfClosed(_ isMeant: (Kept) -> Bool) {
        let missing = kept.filter { number, socket in
            isMeant(socket) && self.number(socket.given, of: socket.process) != number
        }
        guard !missing.isEmpty else { return }
        // They may have other descriptors by now, or other processes.
        let owners = SuppliedSockets.owners(of: Set(missing.keys))
        for (number, socket) in missing {
            guard let owner = owners[number] else {
                letGo(number)
                continue
            }
            let (process, given) = owner
            kept[number] = Kept(
                descriptor: socket.descriptor,
                process: process,
                given: given,
                isBound: socket.isBound
            )
        }
    }

    private func fate(of number: UInt64) -> Fate? { fates[number] ?? olderFates[number] }

    /// The number of the file of a descriptor of this process.
    private static func file(_ descriptor: Int32) -> UInt64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    /// The processes but this one that have sockets with these numbers, and their descriptors there.
    private static func owners(of wanted: Set<UInt64>) -> [UInt64: (process: Int32, descriptor: Int32)] {
        var owners: [UInt64: (process: Int32, descriptor: Int32)] = [:]
        for process in names(in: "/proc") where process != getpid() {
            let path = "/proc/\(process)/fd"
            for descriptor in names(in: path) {
                guard let number = number(of: "\(path)/\(descriptor)"), wanted.contains(number) else { continue }
                owners[number] = (process, descriptor)
            }
        }
        return owners
    }

    /// The names in a folder that are numbers.
    private static func names(in folder: String) -> [Int32] {
        guard let folder = opendir(folder) else { return [] }
        defer { closedir(folder) }
        var names: [Int32] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { Int32(String(cString: $0)) }
            }
            if let name { names.append(name) }
        }
        return names
    }

    /// The number in a link of proc(5) such as `socket:[42]` or `net:[42]`; `nil` for another one, or none.
    private static func number(of path: String) -> UInt64? {
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
