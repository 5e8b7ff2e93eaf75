import CLibevent
import Glibc
import Units

/// The name that a Unix-domain socket listens on, and the file of it.
///
/// The file gets its permissions between bind(2) and listen(2), before which every connection is refused. It is removed,
/// or replaced, only where it is this socket's or nobody's: a socket's file on which nobody listens.
struct UnixListener {
    /// Which file it is, whatever its path.
    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t
    }

    private let name: UnixSocketName
    private let permissions: SocketPermissions
    private var file: Identity?
    /// Whether the socket has the name.
    private(set) var isBound = false
    /// Whether the descriptor has a socket that is no longer of use, because there was no other to take its place.
    private var isSpent = false

    init(_ name: UnixSocketName, _ permissions: SocketPermissions) {
        self.name = name
        self.permissions = permissions
    }

    /// A socket that is bound and doesn't listen yet.
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

    /// Has the system refuse connections and reset those that wait, by closing the socket. Another, without a name, takes
    /// the place of its descriptor; the file stays.
    mutating func refuse(_ descriptor: Int32) {
        isBound = false
        do throws(SystemError) {
            try replaceSocket(descriptor)
        } catch {
            // For want of descriptors. This refuses as well, for good, and those that wait go on waiting.
            shutdown(descriptor, Int32(SHUT_RD))
            isSpent = true
        }
    }

    /// Puts a new socket, without a name, in the place of `descriptor`.
    private mutating func replaceSocket(_ descriptor: Int32) throws(SystemError) {
        let nameless = try SystemSocket.make(family: AF_UNIX)
        defer { Glibc.close(nameless) }
        guard squall_replace(nameless, descriptor) >= 0 else { throw .last("dup3") }
        isSpent = false
    }

    /// Gives the name to a socket that has none; does nothing where it has it.
    mutating func bindAgain(_ descriptor: Int32) throws(SystemError) {
        if isBound { return }
        if isSpent { try replaceSocket(descriptor) }
        if !name.isAbstract {
            try removeStaleFile()
            // The file of a socket has the permissions of the socket, less the process's mask.
            fchmod(descriptor, mode_t(permissions.bits))
        }
        guard SocketAddress(unix: name).withSystemAddress({ Glibc.bind(descriptor, $0, $1) }) == 0 else {
            throw .last("bind")
        }
        isBound = true
        guard !name.isAbstract else { return }
        file = UnixListener.status(of: name.text).map { Identity(device: $0.st_dev, inode: $0.st_ino) }
        guard chmod(name.text, mode_t(permissions.bits)) == 0 else {
            let error = SystemError.last("chmod")
            removeFile()
            throw error
        }
    }

    /// Removes the file, if it is this socket's.
    mutating func removeFile() {
        defer { file = nil }
        guard let file, let found = UnixListener.status(of: name.text),
            file == Identity(device: found.st_dev, inode: found.st_ino)
        else { return }
        unlink(name.text)
    }

    /// Removes a socket's file on which nobody listens.
    ///
    /// - Throws: EADDRINUSE when somebody does, ENOTSOCK when it is another kind of file.
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
            // Another program may have replaced it in this moment.
            if let now = UnixListener.status(of: name.text), now.st_dev == found.st_dev, now.st_ino == found.st_ino {
                unlink(name.text)
            }
        case EACCES, EPERM:
            throw .last("connect")
        default:
            // It listens, its queue is full (EAGAIN), or it is of another type (EPROTOTYPE).
            throw SystemError(call: "bind", code: EADDRINUSE)
        }
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }
}

extension SocketAddress {
    /// Calls `body` with the name of a Unix-domain socket as the system wants it.
    static func withSystemAddress<Result>(
        of name: UnixSocketName,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // An abstract name begins with a NUL in the place of its “@”, and has no end but the length of the address.
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

    /// Whether a connection to this name arrives at the Unix-domain socket of `listener`: both have the same name, or
    /// paths of one file, whether or not that is there yet.
    func reachesUnixSocket(of listener: SocketAddress) -> Bool {
        guard let name = unix, let other = listener.unix else { return false }
        if name == other { return true }
        guard !name.isAbstract, !other.isAbstract else { return false }
        if let own = SocketAddress.file(name.text), let others = SocketAddress.file(other.text) { return own == others }
        return SocketAddress.place(name.text) == SocketAddress.place(other.text)
    }

    private struct File: Equatable {
        let device: dev_t
        let inode: ino_t
        /// The name in a folder; empty for the file itself.
        var name = ""
    }

    private static func file(_ path: String) -> File? {
        var status = stat()
        return stat(path, &status) == 0 ? File(device: status.st_dev, inode: status.st_ino) : nil
    }

    /// Where a file that isn't there would be: its folder, and its name there; `nil` where that isn't either.
    private static func place(_ path: String) -> File? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        guard let last = parts.last else { return nil }
        let folder = String(path.dropLast(last.utf8.count))
        guard var place = file(folder.isEmpty ? "." : folder) else { return nil }
        place.name = String(last)
        return place
    }
}
