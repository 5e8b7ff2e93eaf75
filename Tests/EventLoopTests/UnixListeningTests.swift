import Glibc
import OperatingSystem
import TestSockets
import TestStreams
import Testing
import Units

@testable import EventLoop

@Suite("A listening Unix socket")
struct UnixListeningTests {
    /// Runs `body` with a socket that listens on `address`, and closes it afterwards.
    private func withListening<Result>(
        _ address: SocketAddress,
        _ permissions: SocketPermissions = .ownerOnly,
        _ body: (LoopBound<ListeningSocket>) async throws -> Result
    ) async throws -> Result {
        try await withLoop { loop in
            let handler = try await loop.run { LoopBound(Recorder(), on: loop) }
            let socket = try await loop.run {
                Swift.Result { () throws(SystemError) in
                    let socket = try ListeningSocket(
                        address,
                        permissions: permissions,
                        on: loop,
                        handler: handler.value,
                        tag: 0
                    )
                    return LoopBound(socket, on: loop)
                }
            }.get()
            return try await ending(socket, after: body) {
                try await loop.run { socket.value.close() }
                try await loop.run { socket.value.close() }
            }
        }
    }

    private func error(of address: SocketAddress) async throws -> SystemError? {
        do {
            try await withListening(address) { _ in }
            return nil
        } catch {
            return error as? SystemError
        }
    }

    private func resume(_ socket: LoopBound<ListeningSocket>, answering: Bool = true) async throws -> SystemError? {
        try await socket.loop.run { () -> SystemError? in
            do throws(SystemError) { try socket.value.resume(answering: answering) } catch { return error }
            return nil
        }
    }

    @Test
    func `has a file of its owner alone, which goes when it is closed`() async throws {
        let folder = try Folder()
        let address = try folder.address()
        try await withListening(address) { socket in
            #expect(folder.permissions(of: "s") == 0o600)
            let shown = try await socket.loop.run { socket.value.address.description }
            #expect(shown == "unix:\(folder.path)/s")
            #expect(throws: Never.self) { try TestSocket.connected(to: address).get() }
        }
        #expect(folder.names.isEmpty)
    }

    @Test(arguments: ["0666", "0620", "0000"])
    func `has the permissions that it is given, whatever the mask of the process`(text: String) async throws {
        let folder = try Folder()
        let permissions = try SocketPermissions(parsing: text)
        try await withListening(try folder.address(), permissions) { _ in
            #expect(folder.permissions(of: "s") == UInt32(permissions.bits))
        }
    }

    @Test
    func `takes the place of a file on which nobody listens any more`() async throws {
        let folder = try Folder()
        let address = try folder.address()
        TestSocket.listening(at: try #require(address.unix)).close()
        #expect(folder.names == ["s"])
        #expect(TestSocket.errnoOfConnecting(to: address) == ECONNREFUSED)
        try await withListening(address) { _ in
            #expect(throws: Never.self) { try TestSocket.connected(to: address).get() }
        }
    }

    @Test
    func `leaves a file alone on which somebody listens, even with a full queue`() async throws {
        let folder = try Folder()
        let address = try folder.address()
        let live = TestSocket.listening(at: try #require(address.unix), backlog: 0)
        #expect(try await error(of: address)?.isAddressInUse == true)
        // The question itself has filled the queue.
        #expect(try await error(of: address)?.isAddressInUse == true)
        _ = try live.accepted()
        #expect(throws: Never.self) { try TestSocket.connected(to: address).get() }
    }

    @Test
    func `never replaces what isn't a socket`() async throws {
        let folder = try Folder()
        try folder.write([], to: "s")
        #expect(symlink("/nonexistent/target", "\(folder.path)/link") == 0)
        for name in ["s", "link"] {
            let error = try await error(of: try folder.address(name))
            #expect(
                error?.description == "a file is there that isn't a socket, and stays (bind, errno \(ENOTSOCK))",
                "\(name)"
            )
        }
        #expect(folder.names == ["link", "s"])
        #expect(folder.permissions(of: "s") == 0o644)
        #expect(try await error(of: try folder.address("none/s"))?.description.contains("errno 2") == true)
    }

    @Test
    func `doesn't remove a file that has taken the place of its own`() async throws {
        let folder = try Folder()
        let address = try folder.address()
        try await withListening(address) { _ in
            unlink("\(folder.path)/s")
            try folder.write([], to: "s")
        }
        #expect(folder.names == ["s"])
    }

    @Test
    func `suspended it refuses, resets those that wait, and resumes with its permissions`() async throws {
        let folder = try Folder()
        let address = try folder.address()
        try await withListening(address, SocketPermissions(bits: 0o640)) { socket in
            for _ in 0..<3 {
                let waiting = try TestSocket.connected(to: address).get()
                try await socket.loop.run { socket.value.suspend() }
                #expect(throws: Errno(code: ECONNRESET)) { try waiting.receive(1) }
                #expect(TestSocket.errnoOfConnecting(to: address) == ECONNREFUSED)
                #expect(folder.names == ["s"])
                #expect(try await resume(socket) == nil)
                #expect(folder.permissions(of: "s") == 0o640)
                #expect(throws: Never.self) { try TestSocket.connected(to: address).get() }
            }
            try await socket.loop.run { socket.value.suspend() }
        }
        #expect(folder.names.isEmpty)
    }

    @Test
    func `can't resume where somebody has taken its place, and does when that has gone`() async throws {
        let folder = try Folder()
        let address = try folder.address()
        try await withListening(address) { socket in
            try await socket.loop.run { socket.value.suspend() }
            unlink("\(folder.path)/s")
            let other = TestSocket.listening(at: try #require(address.unix))
            #expect(try await resume(socket)?.isAddressInUse == true)
            other.close()
            #expect(try await resume(socket) == nil)
            #expect(throws: Never.self) { try TestSocket.connected(to: address).get() }
        }
    }

    @Test(arguments: [false, true])
    func `without answers it accepts nobody, and who waits is accepted afterwards`(isSuspended: Bool) async throws {
        let folder = try Folder()
        let address = try folder.address()
        try await withListening(address) { socket in
            if isSuspended { try await socket.loop.run { socket.value.suspend() } }
            let isFiltered = try await socket.loop.run { socket.value.stopAnswering() }
            #expect(!isFiltered)
            if isSuspended { #expect(try await resume(socket, answering: false) == nil) }
            // The queue has room for one.
            let first = try TestSocket.connected(to: address).get()
            #expect(first.isQuiet)
            async let second = blocking { try TestSocket.connected(to: address).get() }
            #expect(try await resume(socket) == nil)
            _ = try await second
        }
    }

    @Test
    func `of an abstract name has no file, and resumes on its name`() async throws {
        let address = SocketAddress(unix: try UnixSocketName(parsing: "unix:@squall-test-\(getpid())"))
        try await withListening(address) { socket in
            #expect(throws: Never.self) { try TestSocket.connected(to: address).get() }
            #expect(try await error(of: address)?.isAddressInUse == true)
            try await socket.loop.run { socket.value.suspend() }
            #expect(TestSocket.errnoOfConnecting(to: address) == ECONNREFUSED)
            #expect(try await resume(socket) == nil)
            #expect(throws: Never.self) { try TestSocket.connected(to: address).get() }
        }
        #expect(TestSocket.errnoOfConnecting(to: address) == ECONNREFUSED)
    }

    @Test
    func `takes the longest names`() async throws {
        let folder = try Folder()
        let rest = 107 - folder.path.utf8.count - 1
        let address = try folder.address(String(repeating: "n", count: rest))
        try await withListening(address) { _ in
            #expect(throws: Never.self) { try TestSocket.connected(to: address).get() }
        }
        #expect(folder.names.isEmpty)
        let name = "@\(getpid())" + String(repeating: "n", count: 107 - "\(getpid())".count)
        let abstract = SocketAddress(unix: try UnixSocketName(parsing: "unix:\(name)"))
        try await withListening(abstract) { _ in
            #expect(throws: Never.self) { try TestSocket.connected(to: abstract).get() }
        }
    }
}
