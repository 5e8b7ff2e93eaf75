import Glibc
import OperatingSystem
import TestSockets
import TestStreams
import Testing
import Units

@testable import EventLoop

struct ListeningTests {
    static let addresses = [loopback(), loopback(isIPv6: true)]

    /// A listening socket that counts its calls, on its loop.
    private final class Fixture: LoopHandler {
        var listening: ListeningSocket?
        var whenReady: () -> Void = {}

        func open(_ address: SocketAddress, on loop: EventLoop) throws(SystemError) -> SocketAddress {
            let listening = try ListeningSocket(address, on: loop, handler: self, tag: 0)
            self.listening = listening
            return listening.address
        }

        override func socketIsReady(_ tag: Int) { whenReady() }

        /// The peer of the connection that waits, which is closed at once.
        func acceptedPeer() -> SocketAddress? {
            guard case .accepted(let detached)? = listening?.accept() else { return nil }
            return detached.peer
        }

        /// Whether somebody waited; the connection is closed at once.
        func acceptedAndClosed() -> Bool {
            guard case .accepted? = listening?.accept() else { return false }
            return true
        }
    }

    private func withListening<Result>(
        _ address: SocketAddress,
        _ body: (LoopBound<Fixture>, SocketAddress) async throws -> Result
    ) async throws -> Result {
        try await withLoop { loop in
            let (fixture, bound) = try await loop.run {
                let fixture = Fixture()
                return Swift.Result { try (LoopBound(fixture, on: loop), fixture.open(address, on: loop)) }
            }.get()
            return try await ending(fixture) {
                try await body($0, bound)
            } by: {
                try await loop.run { fixture.value.listening?.close() }
                try await loop.run { fixture.value.listening?.close() }
            }
        }
    }

    @Test(arguments: addresses) func `port 0 takes a free port and says which`(_ address: SocketAddress) async throws {
        try await withListening(address) { _, bound in
            #expect(bound.port > 0)
            #expect(bound.host == address.host)
            #expect(throws: Never.self) { try TestSocket.connected(to: bound).get() }
        }
    }

    @Test(arguments: addresses)
    func `an address in use is told as such, with its call`(_ address: SocketAddress) async throws {
        try await withListening(address) { fixture, bound in
            let loop = fixture.loop
            let error = try await loop.run { () -> SystemError? in
                do throws(SystemError) { _ = try Fixture().open(bound, on: loop) } catch { return error }
                return nil
            }
            #expect(error?.isAddressInUse == true)
            #expect(error?.description.hasSuffix("(bind, errno 98)") == true)
        }
    }

    @Test(arguments: addresses)
    func `suspended it refuses, keeps its port, and resumes on it`(_ address: SocketAddress) async throws {
        try await withListening(address) { fixture, bound in
            for _ in 0..<3 {
                try await fixture.loop.run { fixture.value.listening?.suspend() }
                #expect(TestSocket.connected(to: bound) == ECONNREFUSED)
                #expect(TestSocket.errnoOfBinding(bound) == EADDRINUSE)
                let failure = try await fixture.loop.run { () -> SystemError? in
                    do throws(SystemError) { try fixture.value.listening?.resume() } catch { return error }
                    return nil
                }
                #expect(failure == nil)
                let connected = TestSocket.connected(to: bound)
                #expect(throws: Never.self) { try connected.get() }
                // Old connections of the port, open and in TIME_WAIT, don't stand in its way.
                let accepted = try await fixture.loop.run { fixture.value.acceptedAndClosed() }
                #expect(accepted)
            }
        }
    }

    @Test func `who waits to be accepted is reset when it is suspended`() async throws {
        try await withListening(ListeningTests.addresses[0]) { fixture, bound in
            let waiting = try TestSocket.connected(to: bound).get()
            try await fixture.loop.run { fixture.value.listening?.suspend() }
            #expect(throws: Errno(code: ECONNRESET)) { try waiting.receive(1) }
        }
    }

    @Test(arguments: addresses)
    func `without answers nobody is connected or refused, and who waits is accepted afterwards`(
        _ address: SocketAddress
    )
        async throws
    {
        try await withListening(address) { fixture, bound in
            let waiting = try TestSocket.connected(to: bound).get()
            let isFiltered = try await fixture.loop.run { fixture.value.listening?.stopAnswering() }
            #expect(isFiltered == true)
            let clients = (0..<5).map { _ in TestSocket.connecting(to: bound) }
            try await fixture.loop.run {}
            #expect(clients.allSatisfy { $0.isConnecting })
            #expect(waiting.isQuiet)
            let failure = try await fixture.loop.run { () -> SystemError? in
                do throws(SystemError) { try fixture.value.listening?.resume() } catch { return error }
                return nil
            }
            #expect(failure == nil)
            let connected = TestSocket.connected(to: bound)
            #expect(throws: Never.self) { try connected.get() }
            let accepted = try await fixture.loop.run { (0..<2).map { _ in fixture.value.acceptedAndClosed() } }
            #expect(accepted == [true, true])
        }
    }

    /// Keeps the filter of the socket that listens at `address` as it is, so that another is refused (SO_LOCK_FILTER,
    /// socket(7)), as all are by a system that has none. Returns whether there was such a socket.
    private func lockFilter(at address: SocketAddress) -> Bool {
        let descriptors = (0..<65_536 as Range<Int32>).filter { descriptor in
            var (listens, size): (Int32, socklen_t) = (0, 4)
            guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens == 1 else {
                return false
            }
            return (try? SocketAddress.bound(to: descriptor)) == address
        }
        var yes: Int32 = 1
        return descriptors.count == 1 && setsockopt(descriptors[0], SOL_SOCKET, SO_LOCK_FILTER, &yes, 4) == 0
    }

    @Test(arguments: addresses)
    func `where no filter is allowed nobody is connected either, and the own connection in the queue is thrown away`(
        _ address: SocketAddress
    )
        async throws
    {
        try await withListening(address) { fixture, bound in
            #expect(lockFilter(at: bound))
            let calls = Shared(0)
            try await fixture.loop.run { fixture.value.whenReady = { calls.update { $0 += 1 } } }
            for _ in 0..<2 {
                // The second time, the own connection of the first is still in the queue.
                let isUnanswering = try await fixture.loop.run { fixture.value.listening?.stopAnswering() }
                #expect(isUnanswering == true)
                let others = (0..<5).map { _ in TestSocket.connecting(to: bound) }
                try await fixture.loop.run {}
                #expect(others.allSatisfy { $0.isConnecting })
                #expect(calls.value == 0)
            }
            let isListening = try await fixture.loop.run {
                // Nothing is accepted by the calls of the loop.
                fixture.value.whenReady = { fixture.value.listening?.unwatch() }
                return (try? fixture.value.listening?.resume()) != nil
            }
            #expect(isListening)
            let client = try TestSocket.connected(to: bound).get()
            let results = try await fixture.loop.run {
                (0..<3).map { _ in fixture.value.listening?.accept() }.map { result in
                    switch result {
                    case .accepted: "client"
                    case .gone: "own"
                    case nil, .some(.none): "none"
                    case .failed: "failed"
                    }
                }
            }
            #expect(results == ["own", "client", "none"])
            #expect(try client.receive(1).isEmpty)
        }
    }

    @Test func `a client that waits fills the queue, and is accepted afterwards`() async throws {
        try await withListening(ListeningTests.addresses[0]) { fixture, bound in
            #expect(lockFilter(at: bound))
            try await fixture.loop.run { fixture.value.listening?.unwatch() }
            let waiting = try TestSocket.connected(to: bound).get()
            let isUnanswering = try await fixture.loop.run { fixture.value.listening?.stopAnswering() }
            #expect(isUnanswering == true)
            let other = TestSocket.connecting(to: bound)
            try await fixture.loop.run {}
            #expect(other.isConnecting && waiting.isQuiet)
            let accepted = try await fixture.loop.run {
                try? fixture.value.listening?.resume()
                return fixture.value.acceptedAndClosed()
            }
            #expect(accepted)
            #expect(try waiting.receive(1).isEmpty)
        }
    }

    @Test func `unwatched it lets clients wait, and watched again it is told of them`() async throws {
        try await withListening(ListeningTests.addresses[0]) { fixture, bound in
            try await fixture.loop.run { fixture.value.listening?.unwatch() }
            let client = try TestSocket.connected(to: bound).get()
            let calls = Shared(0)
            try await fixture.loop.run { fixture.value.whenReady = { calls.update { $0 += 1 } } }
            try await fixture.loop.run {}
            #expect(calls.value == 0)
            let isAccepted: Bool = await answer(of: fixture.loop) { reply in
                fixture.value.whenReady = {
                    fixture.value.whenReady = {}
                    reply(fixture.value.acceptedAndClosed())
                }
                fixture.value.listening?.watch()
            }
            #expect(isAccepted)
            #expect(try client.receive(1).isEmpty)
        }
    }

    @Test func `an accepted connection says where it comes from`() async throws {
        try await withListening(ListeningTests.addresses[0]) { fixture, bound in
            try await fixture.loop.run { fixture.value.listening?.unwatch() }
            let source = try #require(SocketAddress(numericHost: "127.0.0.5", port: 0))
            let client = try TestSocket.connected(to: bound, from: source).get()
            let peer = try await fixture.loop.run { fixture.value.acceptedPeer() }
            #expect(peer == source.with(port: client.localAddress.port))
        }
    }

    @Test func `nobody waiting is none, and a detached socket ends by itself or by a reset`() async throws {
        try await withListening(ListeningTests.addresses[0]) { fixture, bound in
            try await fixture.loop.run { fixture.value.listening?.unwatch() }
            let closed = try TestSocket.connected(to: bound).get()
            let reset = try TestSocket.connected(to: bound).get()
            let words = try await fixture.loop.run { () -> [String] in
                var words: [String] = []
                for isFirst in [true, false, false] {
                    switch fixture.value.listening?.accept() {
                    case .accepted(let detached):
                        words.append("accepted")
                        if !isFirst { detached.reset() }
                    case .none?: words.append("none")
                    case .gone, .failed, nil: words.append("else")
                    }
                }
                return words
            }
            #expect(words == ["accepted", "accepted", "none"])
            #expect(try closed.receive(1).isEmpty)
            #expect(throws: Errno(code: ECONNRESET)) { try reset.receive(1) }
        }
    }

    @Test func `no connection gets the last descriptors of the process`() async throws {
        await #expect(processExitsWith: .success) {
            let low = dup(0)
            try await ListeningTests().withListening(ListeningTests.addresses[0]) { fixture, bound in
                try await fixture.loop.run { fixture.value.listening?.unwatch() }
                let clients = try (0..<30).map { _ in try TestSocket.connected(to: bound).get() }
                // Descriptors of the parent's may be open here, in any place: what is free among them is filled.
                let highest = (0..<Int32(1_000)).last { fcntl($0, F_GETFD) != -1 } ?? 2
                while dup(0) < highest {}
                var limit = rlimit(rlim_cur: rlim_t(highest) + 28, rlim_max: 1_024)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                let (accepted, later, connecting, spare) = try await fixture.loop.run {
                    () -> (Int, Int, SystemError?, Int) in
                    var accepted: [DetachedSocket] = []
                    while case .accepted(let socket)? = fixture.value.listening?.accept() { accepted.append(socket) }
                    let count = accepted.count
                    // A low number says nothing of the next.
                    close(low)
                    while case .accepted(let socket)? = fixture.value.listening?.accept() { accepted.append(socket) }
                    var connecting: SystemError?
                    do throws(SystemError) {
                        let socket = try StreamSocket(connectingTo: bound, on: fixture.loop)
                        fixture.loop.deferRelease(socket)
                    } catch {
                        connecting = error
                    }
                    var spare: [Int32] = []
                    while case let descriptor = dup(0), descriptor >= 0 { spare.append(descriptor) }
                    for descriptor in spare { close(descriptor) }
                    for socket in accepted { socket.reset() }
                    return (count, accepted.count - count, connecting, spare.count)
                }
                // The test's own libraries may have one open for a moment.
                #expect((1..<26).contains(accepted), "\(accepted)")
                #expect(later <= 1, "\(later)")
                #expect(connecting == SystemError(call: "socket", code: EMFILE))
                #expect((12...16).contains(spare), "\(spare)")
                withExtendedLifetime(clients) {}
            }
        }
    }

    @Test func `want of descriptors is a failure that is told`() async throws {
        await #expect(processExitsWith: .success) {
            try await ListeningTests().withListening(ListeningTests.addresses[0]) { fixture, bound in
                try await fixture.loop.run { fixture.value.listening?.unwatch() }
                let client = try TestSocket.connected(to: bound).get()
                var limit = rlimit(rlim_cur: 0, rlim_max: 1_024)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                let error = try await fixture.loop.run { () -> SystemError? in
                    guard case .failed(let error)? = fixture.value.listening?.accept() else { return nil }
                    return error
                }
                #expect(error == SystemError(call: "accept4", code: EMFILE))
                withExtendedLifetime(client) {}
            }
        }
    }
}

/// Whether connecting failed with the errno value.
private func == (result: Result<TestSocket, Errno>, code: Int32) -> Bool {
    guard case .failure(let error) = result else { return false }
    return error.code == code
}
