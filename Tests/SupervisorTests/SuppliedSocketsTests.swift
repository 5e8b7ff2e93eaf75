import Dispatch
import EventLoop
import Glibc
import Synchronization
import Testing
import Units

@testable import Supervisor

/// Sockets that are made for programs; this process is the program.
@Suite struct SuppliedSocketsTests {
    private let connected = Connected()
    private let sockets: SuppliedSockets

    /// The addresses of sockets that are connected.
    private final class Connected {
        var addresses: Set<SocketAddress> = []
    }

    /// The descriptor that a program was given.
    private final class Gift: Sendable {
        private let value = Mutex<(number: UInt64, descriptor: Int32)>((0, -1))
        private let isThere = DispatchSemaphore(value: 0)

        func set(_ number: UInt64, _ descriptor: Int32) {
            value.withLock { $0 = (number, descriptor) }
            isThere.signal()
        }

        func wait() -> (number: UInt64, descriptor: Int32) {
            isThere.wait()
            return value.withLock { $0 }
        }
    }

    init() {
        let connected = connected
        sockets = SuppliedSockets { connected.addresses.contains($0) }
    }

    /// A socket as a program has it: its descriptor and its number.
    private func supplied() throws -> (descriptor: Int32, number: UInt64) {
        let (gift, type) = (Gift(), Int32(SOCK_STREAM.rawValue))
        let give: @Sendable (Int32) -> Int32 = { dup($0) }
        #expect(sockets.supply(AF_INET, type, 0, for: getpid(), at: .zero, give: give) { gift.set($0, $1) } == 0)
        let (number, descriptor) = gift.wait()
        sockets.noteGiven(number, as: descriptor)
        #expect(sockets.number(descriptor, of: getpid()) == number)
        return (descriptor, number)
    }

    @Test func `a program that closes its sockets gets others, also in the rest after a look`() throws {
        let (few, type) = (SuppliedSockets(limit: 8) { _ in false }, Int32(SOCK_STREAM.rawValue))
        func make() -> Int32 {
            let (gift, give): (Gift, @Sendable (Int32) -> Int32) = (Gift(), { dup($0) })
            let code = few.supply(AF_INET, type, 0, for: getpid(), at: .zero, give: give) { gift.set($0, $1) }
            guard code == 0 else { return code }
            let (number, descriptor) = gift.wait()
            few.noteGiven(number, as: descriptor)
            return descriptor
        }
        few.look(at: .zero)
        for _ in 0..<40 { close(make()) }
        few.look(at: .zero)
        // Those that it has are kept, and it isn't looked for them each time.
        let open = (0..<8).map { _ in make() }
        #expect(open.allSatisfy { $0 >= 0 })
        for _ in 0..<3 { #expect(make() == -ENFILE) }
        for descriptor in open { close(descriptor) }
        #expect(make() == -ENFILE)
        few.look(at: .zero)
        let last = make()
        #expect(last >= 0)
        close(last)
    }

    private func duplicates(_ number: UInt64) -> Bool {
        let copy = sockets.duplicate(number)
        if copy >= 0 { close(copy) }
        return copy >= 0
    }

    @Test func `a socket is kept until its program has closed it`() throws {
        let (descriptor, number) = try supplied()
        #expect(!sockets.look(at: .zero))
        #expect(duplicates(number))
        close(descriptor)
        #expect(duplicates(number))
        #expect(sockets.look(at: .zero))
        #expect(sockets.duplicate(number) == -EOPNOTSUPP)
        #expect(sockets.nextLook == .distantFuture)
    }

    @Test func `looks are rarer while nothing changes`() throws {
        let (descriptor, _) = try supplied()
        defer { close(descriptor) }
        #expect(sockets.nextLook == .zero + .milliseconds(20))
        // A look itself may take long on a busy machine.
        for pause in [40, 80, 160, 320, 640, 1_000, 1_000] {
            sockets.look(at: .zero)
            #expect(sockets.nextLook >= .zero + .milliseconds(pause))
        }
    }

    @Test func `a socket that is connected is let go, and its target is known`() throws {
        let (descriptor, number) = try supplied()
        defer { close(descriptor) }
        #expect(sockets.target(of: number) == nil)
        let target = try #require(SocketAddress(numericHost: "192.0.2.1", port: 80))
        let local = try #require(SocketAddress(numericHost: "127.0.0.1", port: 50_000))
        sockets.letGo(number, connectedTo: target, at: local)
        connected.addresses = [local]
        #expect(sockets.target(of: number) == target)
        // The kernel says that it is connected.
        #expect(sockets.duplicate(number) == -EBADF)
        connected.addresses = []
        #expect(sockets.target(of: number) == nil)
        #expect(sockets.duplicate(number) == -EOPNOTSUPP)
        // Another one gets its address.
        let (other, otherNumber) = try supplied()
        defer { close(other) }
        sockets.letGo(otherNumber, connectedTo: target, at: local)
        connected.addresses = [local]
        #expect(sockets.target(of: number) == nil && sockets.target(of: otherNumber) == target)
    }

    @Test func `a closed socket is let go before another one is bound to a port`() throws {
        let (first, firstNumber) = try supplied()
        let (second, secondNumber) = try supplied()
        defer { close(second) }
        #expect(sockets.noteBinding(first, of: getpid(), hasPort: false).isEmpty)
        close(first)
        #expect(sockets.noteBinding(second, of: getpid(), hasPort: false).isEmpty)
        #expect(duplicates(firstNumber))
        #expect(sockets.noteBinding(second, of: getpid(), hasPort: true).count == 1)
        #expect(!duplicates(firstNumber) && duplicates(secondNumber))
        sockets.letGo(secondNumber)
        #expect(sockets.duplicate(secondNumber) == -EOPNOTSUPP)
    }

    @Test func `other sockets and files aren't known`() throws {
        let other = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(other) }
        #expect(sockets.duplicate(try #require(sockets.number(other, of: getpid()))) == -EPROTOTYPE)
        #expect(sockets.number(-1, of: getpid()) == nil)
        let file = open("/dev/null", O_RDONLY)
        defer { close(file) }
        #expect(sockets.number(file, of: getpid()) == nil)
        #expect(!sockets.isElsewhere(getpid()))
    }

    @Test func `what can't be made or given fails as the call does`() {
        #expect(sockets.supply(AF_INET, 77, 0, for: getpid(), at: .zero, give: { dup($0) }, given: { _, _ in }) < 0)
        let (gift, type) = (Gift(), Int32(SOCK_STREAM.rawValue))
        let refuse: @Sendable (Int32) -> Int32 = { _ in -EMFILE }
        #expect(sockets.supply(AF_INET, type, 0, for: getpid(), at: .zero, give: refuse) { gift.set($0, $1) } == 0)
        let (number, code) = gift.wait()
        #expect(code == -EMFILE)
        sockets.noteGiven(number, as: code)
        #expect(sockets.duplicate(number) == -EPROTOTYPE)
    }
}
