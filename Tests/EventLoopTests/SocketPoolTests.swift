import Glibc
import TestSockets
import Testing
import Units

@testable import EventLoop

/// Sockets of the system that are connected again, see `StreamSocket.rest`.
struct SocketPoolTests {
    /// A connection's handler, which knows what to do when its socket is ready.
    private final class User: LoopHandler {
        /// As long as there is one, the user lives.
        var socket: StreamSocket? {
            didSet { itself = socket == nil ? nil : self }
        }
        private var itself: User?
        var whenReady: (User) -> Void = { _ in }

        override func socketIsReady(_ tag: Int) { whenReady(self) }

        /// Once the peer has ended its stream, has the socket rest and says so.
        func restsAtEnd() -> Bool {
            guard let socket, socket.isReadable, case .ended = socket.receive(limit: 1) else { return false }
            SocketPoolTests.endAndWait(socket)
            leave { $0.rest() }
            return true
        }

        /// Lets go of the socket by `end`, and of itself.
        func leave(_ end: (StreamSocket) -> Void) {
            guard let socket else { return }
            end(socket)
            socket.loop.bury(self)
            self.socket = nil
        }
    }

    /// How a connection of the loop is used.
    private struct Use: Sendable {
        var receiveBuffer: Int?
        /// What is done before the end.
        var prepare: @Sendable (StreamSocket) -> Void = SocketPoolTests.endAndWait
        var end: @Sendable (StreamSocket) -> Void = { $0.rest() }
        /// Whether it ends without having received anything.
        var isImpatient = false
    }

    /// What a connection has received, and the descriptor that it used.
    private struct Outcome: Sendable {
        var bytes = 0
        var descriptor: Int32 = -1
        var error: SystemError?
        var hasNoDelay = false
        var congestionControl = ""
        /// The sockets that rest afterwards.
        var resting = 0
    }

    /// Connects a socket of the loop, old or new, to `listener`, whose peer does `body` and closes; ends it as `use` says
    /// when the peer has ended.
    private static func connect(
        _ loop: EventLoop,
        _ use: Use = Use(),
        isIPv6: Bool = false,
        _ body: @escaping @Sendable (TestSocket) throws -> Void
    ) async throws -> Outcome {
        let (listener, address) = TestSocket.listening(isIPv6: isIPv6)
        async let peer: Void = blocking {
            let socket = try listener.accepted()
            try body(socket)
            socket.close()
        }
        let outcome: Outcome = await answer(of: loop) { reply in
            let user = User()
            let socket = StreamSocket.rested(on: loop)
            user.socket = socket
            var outcome = Outcome()
            do throws(SystemError) {
                try socket.connect(to: address, receiveBuffer: use.receiveBuffer)
            } catch {
                outcome.error = error
                return reply(outcome)
            }
            outcome.descriptor = socket.descriptor
            outcome.hasNoDelay = SocketPoolTests.hasNoDelay(socket)
            outcome.congestionControl = socket.congestionControl
            user.whenReady = { user in
                guard let socket = user.socket else { return }
                outcome.error = outcome.error ?? socket.connectionError()
                while socket.isReadable, !use.isImpatient {
                    switch socket.receive(limit: 1_024) {
                    case .received(let count):
                        outcome.bytes += count
                        continue
                    case .wouldBlock: return
                    case .ended: break
                    case .failed(let error): outcome.error = error
                    }
                    break
                }
                guard socket.hasPeerEnded || outcome.error != nil || use.isImpatient else { return }
                use.prepare(socket)
                user.leave(use.end)
                outcome.resting = loop.resting.count
                reply(outcome)
            }
            socket.watch(by: user, tag: 0)
        }
        try await peer
        return outcome
    }

    /// Ends this side's stream, and waits until the peer's kernel has heard of it; on a busy machine that takes its time.
    private static let endAndWait: @Sendable (StreamSocket) -> Void = { socket in
        socket.shutdownWrite()
        let deadline = MonotonicClock.now + .seconds(30)
        while socket.unacknowledged() > 0, MonotonicClock.now < deadline { sched_yield() }
    }

    /// Runs `body` with a loop whose sockets rest for an hour.
    private static func withPatientLoop(_ body: (EventLoop) async throws -> Void) async throws {
        try await withLoop { loop in
            try await loop.run { loop.resting.patience = 3_600_000_000_000 }
            try await body(loop)
        }
    }

    private static func hasNoDelay(_ socket: StreamSocket) -> Bool {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &length)
        return value != 0
    }

    @Test(arguments: [false, true])
    func `a socket that rested is connected again, and knows nothing of the connection before`(
        _ isIPv6: Bool
    ) async throws {
        try await SocketPoolTests.withPatientLoop { loop in
            let first = try await SocketPoolTests.connect(loop, isIPv6: isIPv6) { try $0.send([1, 2, 3]) }
            #expect(first.bytes == 3 && first.resting == 1 && first.error == nil)
            for count in 4..<40 {
                let next = try await SocketPoolTests.connect(loop, isIPv6: isIPv6) { peer in
                    try peer.send([UInt8](repeating: 7, count: count))
                }
                #expect(next.error == nil)
                #expect(next.bytes == count)
                #expect(next.descriptor == first.descriptor)
                #expect(next.resting == 1)
                #expect(next.hasNoDelay)
                #expect(next.congestionControl == first.congestionControl)
            }
        }
    }

    @Test func `it doesn't matter who ended first`() async throws {
        try await SocketPoolTests.withPatientLoop { loop in
            let first = try await SocketPoolTests.connect(loop) { try $0.send([1]) }
            let second = try await SocketPoolTests.connect(loop) { peer in
                peer.endWriting()
                _ = peer.receiveAll()
            }
            #expect(first.resting == 1 && second.resting == 1)
            #expect(second.error == nil && second.bytes == 0)
            #expect(second.descriptor == first.descriptor)
        }
    }

    @Test func `what has anything left is closed and not kept`() async throws {
        let buffered: @Sendable (StreamSocket) -> Void = { $0.setReceiveBuffer(4_096) }
        let uses: [(String, Use, @Sendable (TestSocket) throws -> Void)] = [
            ("the peer goes on", Use(isImpatient: true), { _ = $0.receiveAll() }),
            ("a reset", Use(), { $0.resetAtClose() }),
            ("a buffer that was asked for", Use(receiveBuffer: 4_096), { try $0.send([1]) }),
            ("a buffer that was changed", Use(prepare: buffered), { try $0.send([1]) }),
            ("closed", Use(end: { $0.close() }), { try $0.send([1]) }),
            ("reset from here", Use(end: { $0.reset() }), { try $0.send([1]) }),
        ]
        try await SocketPoolTests.withPatientLoop { loop in
            for (name, use, body) in uses {
                let outcome = try await SocketPoolTests.connect(loop, use, body)
                #expect(outcome.resting == 0, "\(name)")
            }
        }
    }

    @Test func `a peer's kernel that is silent keeps a socket from resting`() async throws {
        try await SocketPoolTests.withPatientLoop { loop in
            let (listener, address) = TestSocket.listening()
            let peer: Shared<TestSocket?> = Shared(nil)
            let resting: Int = await answer(of: loop) { reply in
                let user = User()
                user.socket = try? StreamSocket(connectingTo: address, on: loop)
                user.whenReady = { user in
                    guard let socket = user.socket else { return }
                    if socket.isReadable, case .ended = socket.receive(limit: 1) {
                        // From here on the peer's kernel throws away what comes, this side's end with it.
                        peer.value?.dropPackets()
                        user.leave { $0.rest() }
                        reply(loop.resting.count)
                    }
                }
                user.socket?.watch(by: user, tag: 0)
                let accepted = try? listener.accepted()
                peer.update { $0 = accepted }
                accepted?.endWriting()
            }
            #expect(resting == 0)
            peer.value?.close()
        }
    }

    @Test func `who wants another kind of socket gets a new one, and the old one is closed`() async throws {
        try await SocketPoolTests.withPatientLoop { loop in
            let first = try await SocketPoolTests.connect(loop) { try $0.send([1]) }
            let six = try await SocketPoolTests.connect(loop, isIPv6: true) { try $0.send([1, 2]) }
            #expect(first.resting == 1 && six.resting == 1)
            #expect(six.error == nil && six.bytes == 2)
            let small = try await SocketPoolTests.connect(loop, Use(receiveBuffer: 4_096)) { try $0.send([3]) }
            #expect(small.error == nil && small.bytes == 1 && small.resting == 0)
        }
    }

    @Test func `a refused connection with a socket that rested says so, and the socket is closed`() async throws {
        let (nobody, gone) = TestSocket.refusing()
        defer { nobody.close() }
        try await SocketPoolTests.withPatientLoop { loop in
            _ = try await SocketPoolTests.connect(loop) { try $0.send([1]) }
            let (error, resting): (SystemError?, Int) = await answer(of: loop) { reply in
                let user = User()
                let socket = StreamSocket.rested(on: loop)
                user.socket = socket
                user.whenReady = { user in
                    let error = user.socket?.connectionError()
                    user.leave { $0.rest() }
                    reply((error, loop.resting.count))
                }
                do throws(SystemError) {
                    try socket.connect(to: gone)
                    socket.watch(by: user, tag: 0)
                } catch {
                    user.leave { $0.close() }
                    reply((error, loop.resting.count))
                }
            }
            #expect(error?.code == ECONNREFUSED)
            #expect(resting == 0)
            let next = try await SocketPoolTests.connect(loop) { try $0.send([1, 2]) }
            #expect(next.error == nil && next.bytes == 2)
        }
    }

    @Test func `nobody gets a socket that whoever closed it still holds`() async throws {
        try await SocketPoolTests.withPatientLoop { loop in
            let (listener, address) = TestSocket.listening()
            let areOthers: [Bool] = await answer(of: loop) { reply in
                let user = User()
                user.socket = try? StreamSocket(connectingTo: address, on: loop)
                user.whenReady = { user in
                    guard let socket = user.socket, user.restsAtEnd() else { return }
                    let other = StreamSocket.rested(on: loop)
                    reply([loop.resting.count == 1, other !== socket])
                }
                user.socket?.watch(by: user, tag: 0)
                try? listener.accepted().close()
            }
            #expect(areOthers == [true, true])
        }
    }

    @Test func `what a turn tells of the connection before isn't told of the next`() async throws {
        try await SocketPoolTests.withPatientLoop { loop in
            let (listener, address) = TestSocket.listening()
            let (later, laterAddress) = TestSocket.listening()
            // Two connections end at the same time; whoever hears of it first ends the other one as well, whose own news
            // are still to come in that turn, and connects its socket anew.
            let news: [String] = await answer(of: loop) { reply in
                let users = [User(), User()]
                for user in users {
                    user.socket = try? StreamSocket(connectingTo: address, on: loop)
                    user.socket?.watch(by: user, tag: 0)
                }
                let peers = users.compactMap { _ in try? listener.accepted() }
                loop.callSoon(Recorder.doing { for peer in peers { peer.close() } }, tag: 0)
                var isConnectedAnew = false
                for user in users {
                    user.whenReady = { user in
                        guard user.socket?.hasPeerEnded == true, !isConnectedAnew,
                            let other = users.first(where: { $0 !== user })
                        else { return }
                        isConnectedAnew = true
                        if let socket = other.socket { SocketPoolTests.receiveEnd(of: socket) }
                        other.leave { $0.rest() }
                        let next = User()
                        next.socket = StreamSocket.rested(on: loop)
                        guard loop.resting.count == 0 else { return reply(["not taken"]) }
                        try? next.socket?.connect(to: laterAddress)
                        var seen: [String] = []
                        next.whenReady = { next in
                            guard let socket = next.socket else { return }
                            seen.append(socket.connectionError() == nil ? "connected" : "broken")
                            seen.append(socket.hasPeerEnded ? "ended" : "open")
                            next.leave { $0.close() }
                            user.leave { $0.close() }
                            reply(seen)
                        }
                        next.socket?.watch(by: next, tag: 0)
                    }
                }
            }
            #expect(news == ["connected", "open"])
            withExtendedLifetime(later) {}
        }
    }

    private static func receiveEnd(of socket: StreamSocket) {
        // The loop has not told of it yet.
        guard case .ended = socket.receive(limit: 1) else { return }
        endAndWait(socket)
    }

    @Test func `as many rest as there is room for`() async throws {
        let count = SocketPool.limit + 8
        try await SocketPoolTests.withPatientLoop { loop in
            let (listener, address) = TestSocket.listening()
            let resting: [Int] = await answer(of: loop) { reply in
                var resting: [Int] = []
                for _ in 0..<count {
                    let user = User()
                    user.socket = try? StreamSocket(connectingTo: address, on: loop)
                    user.whenReady = { user in
                        guard user.restsAtEnd() else { return }
                        resting.append(loop.resting.count)
                        if resting.count == count { reply(resting) }
                    }
                    user.socket?.watch(by: user, tag: 0)
                    try? listener.accepted().close()
                }
            }
            #expect(resting == (1...count).map { min($0, SocketPool.limit) })
        }
    }

    @Test func `sockets that nobody wants are closed, and those that are wanted stay`() async throws {
        try await SocketPoolTests.withPatientLoop { loop in
            _ = try await SocketPoolTests.connect(loop) { try $0.send([1]) }
            let counts = try await loop.run {
                let pool = loop.resting
                var counts = [pool.count]
                pool.timerFired(0)
                counts.append(pool.count)
                return counts
            }
            #expect(counts == [1, 1])
            _ = try await SocketPoolTests.connect(loop) { try $0.send([1]) }
            let later = try await loop.run {
                let pool = loop.resting
                var counts = [pool.count]
                // Taken once since the last time, so somebody wants it.
                for _ in 0..<2 {
                    pool.timerFired(0)
                    counts.append(pool.count)
                }
                return counts
            }
            #expect(later == [1, 1, 0])
        }
    }

    @Test func `for want of descriptors those that rest are closed`() async throws {
        await #expect(processExitsWith: .success) {
            try await SocketPoolTests.withPatientLoop { loop in
                _ = try await SocketPoolTests.connect(loop) { try $0.send([1]) }
                let (_, address) = TestSocket.listening()
                let outcome = try await loop.run { () -> [Bool] in
                    // A pool of one, which is held, as it is in the turn in which it was closed.
                    guard let held = loop.resting.take() else { return [] }
                    loop.resting.keep(held)
                    var limit = rlimit(rlim_cur: 0, rlim_max: 1_024)
                    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                    var spare: [Int32] = []
                    while true {
                        let descriptor = dup(0)
                        if descriptor < 0 { break }
                        spare.append(descriptor)
                    }
                    let socket = StreamSocket.rested(on: loop)
                    let isOther = socket !== held
                    try? socket.connect(to: address)
                    let isOpen = socket.isOpen
                    socket.close()
                    for descriptor in spare { close(descriptor) }
                    return [isOther, isOpen, loop.resting.count == 0]
                }
                #expect(outcome == [true, true, true])
            }
        }
    }
}
