import CLibevent
import Glibc
import OperatingSystem
import Units

/// The name and the file of a listening Unix-domain socket.
///
/// The file gets its permissions between bind(2) and listen(2), while connections are still refused. Only the socket's own
/// file or a stale one is removed or replaced.
struct UnixListener {
    private let name: UnixSocketName
    private let permissions: SocketPermissions
    private var file: UnixFile?
    /// Whether the socket is bound to the name.
    private(set) var isBound = false
    /// Whether the descriptor's socket couldn't be replaced.
    private var isSpent = false

    init(_ name: UnixSocketName, _ permissions: SocketPermissions) {
        self.name = name
        self.permissions = permissions
    }

    /// Makes a bound socket that doesn't listen yet.
    mutating func open() throws(SystemError) -> Int32 {
        let descriptor = try SystemSocket.make(family: AF_UNIX)
        do throws(SystemError) {
            try bindAgain(descriptor)
            return descriptor
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    /// Refuses connections and resets waiting ones by closing the socket. An unbound socket takes its descriptor; the file
    /// stays.
    mutating func refuse(_ descriptor: Int32) {
        isBound = false
        do throws(SystemError) {
            try replaceSocket(descriptor)
        } catch {
            // Out of descriptors: refuses for good, and waiting connections stay.
            shutdown(descriptor, Int32(SHUT_RD))
            isSpent = true
        }
    }

    /// Replaces `descriptor` by a new, unbound socket.
    private mutating func replaceSocket(_ descriptor: Int32) throws(SystemError) {
        let nameless = try SystemSocket.make(family: AF_UNIX)
        defer { Glibc.close(nameless) }
        guard squall_replace(nameless, descriptor) >= 0 else { throw .last("dup3") }
        isSpent = false
    }

    /// Binds an unbound socket to the name.
    mutating func bindAgain(_ descriptor: Int32) throws(SystemError) {
        if isBound { return }
        if isSpent { try replaceSocket(descriptor) }
        if !name.isAbstract {
            try removeStaleFile()
            // The file gets the socket's permissions minus the umask.
            fchmod(descriptor, mode_t(permissions.bits))
        }
        guard SocketAddress(unix: name).withSystemAddress({ Glibc.bind(descriptor, $0, $1) }) == 0 else {
            throw .last("bind")
        }
        isBound = true
        guard !name.isAbstract else { return }
        file = UnixListener.status(of: name.text).map { UnixFile($0) }
        guard chmod(name.text, mode_t(permissions.bits)) == 0 else {
            let error = SystemError.last("chmod")
            removeFile()
            throw error
        }
    }

    /// Removes the socket's own file.
    mutating func removeFile() {
        defer { file = nil }
        guard let file, let found = UnixListener.status(of: name.text), file == UnixFile(found) else { return }
        unlink(name.text)
    }

    /// Removes a stale socket file.
    ///
    /// - Throws: EADDRINUSE if a process listens, ENOTSOCK for another kind of file.
    private func removeStaleFile() throws(SystemError) {
        guard let found = UnixListener.status(of: name.text) else { return }
        guard found.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemError(call: "bind", code: ENOTSOCK, reason: "a file is there that isn't a socket, and stays")
        }
        let probe = try SystemSocket.make(family: AF_UNIX)
        defer { Glibc.close(probe) }
        let isConnected = SocketAddress(unix: name).withSystemAddress { Glibc.connect(probe, $0, $1) } == 0
        switch isConnected ? 0 : errno {
        case ENOENT:
            return
        case ECONNREFUSED:
            // Another program may have replaced the file.
            if UnixListener.status(of: name.text).map({ UnixFile($0) }) == UnixFile(found) {
                unlink(name.text)
            }
        case EACCES, EPERM:
            throw .last("connect")
        default:
            // It is listening, its backlog is full (EAGAIN), or its type differs (EPROTOTYPE).
            throw SystemError(call: "bind", code: EADDRINUSE)
        }
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }
}

/// The identity of a file.
private struct UnixFile: Equatable {
    let device: dev_t
    let inode: ino_t
    /// The name within a folder; empty for the file itself.
    var name = ""

    init(_ status: stat) { (device, inode) = (status.st_dev, status.st_ino) }
}

extension SocketAddress {
    /// Calls `body` with the name as a `sockaddr`.
    static func withSystemAddress<Result>(
        of name: UnixSocketName,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // An abstract name begins with NUL instead of “@” and ends with the address length.
        let bytes = Array(name.text.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            precondition(bytes.count <= path.count, "a name is checked when it is made")
            path.copyBytes(from: bytes)
            if name.isAbstract { path[0] = 0 }
        }
        let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + bytes.count } ?? 0
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, name.isAbstract ? socklen_t(length) : socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Whether a connection to this name reaches the Unix-domain socket `listener`: equal names, or paths of one file, which
    /// needn't exist yet.
    func reachesUnixSocket(of listener: SocketAddress) -> Bool {
        guard let name = unix, let other = listener.unix else { return false }
        if name == other { return true }
        guard !name.isAbstract, !other.isAbstract else { return false }
        if let own = SocketAddress.file(name.text), let others = SocketAddress.file(other.text) { return own == others }
        return SocketAddress.place(name.text) == SocketAddress.place(other.text)
    }

    private static func file(_ path: String) -> UnixFile? {
        var status = stat()
        return stat(path, &status) == 0 ? UnixFile(status) : nil
    }

    /// The folder and name of a missing file; `nil` if the folder is missing, too.
    private static func place(_ path: String) -> UnixFile? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        guard let last = parts.last else { return nil }
        let folder = String(path.dropLast(last.utf8.count))
        guard var place = file(folder.isEmpty ? "." : folder) else { return nil }
        place.name = String(last)
        return place
    }
}
