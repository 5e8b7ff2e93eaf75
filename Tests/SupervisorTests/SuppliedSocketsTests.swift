import EventLoop
import Glibc
import Testing

@testable import Supervisor

/// Sockets that are made for programs; this process is the program.
@Suite struct SuppliedSocketsTests {
    private let connected = Connected()
    private let sockets: SuppliedSockets

    /// The addresses of sockets that are connected.
    private final class Connected {
        var addresses: Set<SocketAddress> = []
    }

    init() {
        let connected = connected
        sockets = SuppliedSockets { connected.addresses.contains($0) }
    }

    /// A socket as a program has it: its descriptor and its number.
    private func supplied() throws -> (descriptor: Int32, number: UInt64) {
        var copy: Int32 = -1
        let code = sockets.supply(AF_INET, Int32(SOCK_STREAM.rawValue), 0, for: getpid()) { descriptor in
            copy = dup(descriptor)
            return copy
        }
        #expect(code == 0)
        return (copy, try #require(sockets.number(copy, of: getpid())))
    }

    private func duplicates(_ number: UInt64) -> Bool {
        let copy = sockets.duplicate(number)
        if copy >= 0 { close(copy) }
        return copy >= 0
    }

    @Test func `a socket is kept until its program has closed it`() throws {
        let (descriptor, number) = try supplied()
        sockets.letGoOfClosed()
        #expect(duplicates(number))
        close(descriptor)
        #expect(duplicates(number))
        sockets.letGoOfClosed()
        #expect(sockets.duplicate(number) == -EOPNOTSUPP)
        #expect(sockets.isEmpty)
    }

    @Test func `a socket that is connected is let go, and its target is known`() throws {
        let (descriptor, number) = try supplied()
        defer { close(descriptor) }
        #expect(sockets.target(of: number) == nil)
        let target = try #require(SocketAddress(numericHost: "192.0.2.1", port: 80))
        let local = try #require(SocketAddress(numericHost: "127.0.0.1", port: 50_000))
        sockets.letGo(number, connectedTo: target, at: local)
        #expect(sockets.isEmpty)
        connected.addresses = [local]
        #expect(sockets.target(of: number) == target)
        // The kernel says that it is connected.
        #expect(sockets.duplicate(number) == -EBADF)
        connected.addresses = []
        #expect(sockets.target(of: number) == nil)
        #expect(sockets.duplicate(number) == -EOPNOTSUPP)
    }

    @Test func `a closed socket is let go before another one is bound, and one that listens at once`() throws {
        let (first, firstNumber) = try supplied()
        let (second, secondNumber) = try supplied()
        sockets.note(first, of: getpid(), listens: false)
        #expect(duplicates(firstNumber))
        close(first)
        sockets.note(second, of: getpid(), listens: false)
        #expect(!duplicates(firstNumber) && duplicates(secondNumber))
        sockets.note(second, of: getpid(), listens: true)
        #expect(!duplicates(secondNumber))
        close(second)
    }

    @Test func `other sockets and files aren't known`() throws {
        let other = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(other) }
        #expect(sockets.duplicate(try #require(sockets.number(other, of: getpid()))) == -EPROTOTYPE)
        #expect(sockets.number(-1, of: getpid()) == nil)
        let file = open("/dev/null", O_RDONLY)
        defer { close(file) }
        #expect(sockets.number(file, of: getpid()) == nil)
    }

    @Test func `what can't be made or given fails as the call does`() {
        #expect(sockets.supply(AF_INET, 77, 0, for: getpid()) { dup($0) } < 0)
        #expect(sockets.supply(AF_INET, Int32(SOCK_STREAM.rawValue), 0, for: getpid()) { _ in -EMFILE } == -EMFILE)
        #expect(sockets.isEmpty)
    }
}
