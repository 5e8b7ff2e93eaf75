import Glibc
import OperatingSystem
import TestSockets
import Testing
import Units

@testable import EventLoop

struct StreamSocketTests {
    /// What a socket saw, as text.
    private final class Observer: LoopHandler {
        var socket: StreamSocket?
        var whenReady: (StreamSocket) -> Void = { _ in }

        override func socketIsReady(_ tag: Int) {
            if let socket { whenReady(socket) }
        }

        func close() {
            guard let socket else { return }
            socket.close()
            socket.close()
            socket.loop.deferRelease(socket)
            socket.loop.deferRelease(self)
            self.socket = nil
        }
    }

    /// Receives until something else than bytes comes, and tells both as text.
    private static func observe(_ socket: StreamSocket, _ seen: inout [String]) -> Bool {
        while socket.isReadable {
            switch socket.receive(limit: 4) {
            case .received(let chunk): seen.append("\(chunk.count)")
            case .wouldBlock: return false
            case .ended:
                seen.append("end")
                return true
            case .failed(let error):
                seen.append(error.code == ECONNRESET ? "reset" : "\(error)")
                return true
            }
        }
        return false
    }

    /// What a connecting socket of the loop sees of a peer that does `body`.
    private func sees(_ body: @escaping @Sendable (TestSocket) throws -> Void) async throws -> [String] {
        try await withLoop { loop in
            let (listener, address) = TestSocket.listening()
            async let peer: Void = blocking { try body(listener.accepted()) }
            let seen: [String] = await answer(of: loop) { reply in
                let observer = Observer()
                guard let socket = try? StreamSocket(connectingTo: address, on: loop) else { return reply(["nothing"]) }
                observer.socket = socket
                var seen: [String] = []
                observer.whenReady = { socket in
                    if StreamSocketTests.observe(socket, &seen) {
                        observer.close()
                        reply(seen)
                    }
                }
                socket.watch(by: observer, tag: 0)
            }
            try await peer
            return seen
        }
    }

    @Test func `a probe finds out that a peer has closed its socket, and the end is still an end behind its bytes`()
        async throws
    {
        let seen: [String] = try await withLoop { loop in
            let (listener, address) = TestSocket.listening()
            async let peer: Void = blocking {
                let peer = try listener.accepted()
                peer.isForgottenSoon()
                try peer.send([1, 2, 3])
                peer.close()
            }
            let seen: [String] = await answer(of: loop) { reply in
                let observer = Observer()
                guard let socket = try? StreamSocket(connectingTo: address, on: loop) else { return reply(["nothing"]) }
                observer.socket = socket
                observer.whenReady = { socket in
                    guard socket.hasPeerEnded else { return }
                    socket.probe(every: 1, count: 60)
                    // The next that comes is the answer to a probe.
                    guard socket.isBroken() else { return }
                    var seen = ["gone"]
                    _ = StreamSocketTests.observe(socket, &seen)
                    observer.close()
                    reply(seen)
                }
                socket.watch(by: observer, tag: 0)
            }
            try await peer
            return seen
        }
        #expect(seen == ["gone", "3", "end"])
    }

    @Test func `between programs of one machine nothing is paced, whatever the system does`() async throws {
        #expect(["bbr", "bbr2"].map { CongestionControl.substitute(for: $0) } == ["reno", "reno"])
        #expect(["cubic", "reno", "dctcp", ""].map { CongestionControl.substitute(for: $0) } == [nil, nil, nil, nil])
        let ways = try await withLoop { loop in
            let (listener, address) = TestSocket.listening()
            let ways: [String] = await answer(of: loop) { reply in
                let recorder = Recorder()
                guard let listening = try? ListeningSocket(loopback(), on: loop, handler: recorder, tag: 0),
                    let near = try? StreamSocket(connectingTo: address, on: loop),
                    let peer = try? StreamSocket(connectingTo: listening.address, on: loop)
                else { return reply([]) }
                recorder.whenReady = { _ in
                    guard case .accepted(let detached) = listening.accept() else { return reply([]) }
                    guard let accepted = StreamSocket(detached, on: loop) else { return reply([]) }
                    reply([near, accepted].map { CongestionControl.name(of: $0.descriptor) })
                    for socket in [near, accepted, peer] { socket.close() }
                    listening.close()
                    loop.deferRelease(listening)
                    loop.deferRelease(recorder)
                }
            }
            _ = listener
            return ways
        }
        let fresh = try SystemSocket.make(family: AF_INET)
        let system = CongestionControl.name(of: fresh)
        close(fresh)
        let expected = CongestionControl.substitute(for: system) ?? system
        #expect(ways == [expected, expected])
    }

    @Test func `the loop knows when bytes came, however late they are taken`() async throws {
        try await withLoop { loop in
            let (listener, address) = TestSocket.listening()
            let isKnown: Bool = await answer(of: loop) { reply in
                guard let socket = try? StreamSocket(connectingTo: address, on: loop),
                    let peer = try? listener.accepted()
                else { return reply(false) }
                socket.stampArrivals()
                var isKnown = false
                // The system begins to stamp a little later than it is first asked to: on a busy machine, much later.
                let patience = loop.now.advanced(byNanoseconds: Int64(TestSocket.patience) * 1_000_000_000)
                while !isKnown, loop.now < patience {
                    let before = loop.now
                    try? peer.send([1])
                    // Taken after it has come, as the system says.
                    var entry = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
                    guard poll(&entry, 1, Int32(TestSocket.patience * 1_000)) == 1 else { break }
                    let taken = loop.now
                    guard case .received(let chunk) = socket.receive(limit: 4), chunk.count == 1,
                        let arrival = chunk.arrival
                    else { break }
                    isKnown = arrival >= before && arrival < taken
                }
                socket.close()
                loop.deferRelease(socket)
                reply(isKnown)
            }
            #expect(isKnown)
        }
    }

    @Test func `a descriptor that a Unix peer passes is let go, though arrivals are stamped`() async throws {
        let isLetGo = try await withLoop { loop in
            await answer(of: loop) { (reply: @escaping @Sendable (Bool) -> Void) in
                var pair: [Int32] = [-1, -1]
                let type = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
                guard socketpair(AF_UNIX, Int32(type), 0, &pair) == 0, let pipe = loop.system.makePipe(size: 4_096),
                    let socket = StreamSocket(DetachedSocket(pair[0], loop.system, isUnix: true), on: loop)
                else { return reply(false) }
                socket.stampArrivals()
                let isPassed = StreamSocketTests.pass(pipe.input, over: pair[1])
                Glibc.close(pipe.input)
                guard isPassed, case .received(let chunk) = socket.receive(limit: 4) else { return reply(false) }
                // A pipe ends when nobody has its other end any more.
                var entry = pollfd(fd: pipe.output, events: 0, revents: 0)
                reply(chunk.count == 1 && chunk.arrival != nil && poll(&entry, 1, 30_000) == 1)
                socket.close()
                loop.deferRelease(socket)
                for descriptor in [pipe.output, pair[1]] { Glibc.close(descriptor) }
            }
        }
        #expect(isLetGo)
    }

    /// Sends a byte and a descriptor; whether that went.
    private static func pass(_ descriptor: Int32, over socket: Int32) -> Bool {
        var byte: UInt8 = 1
        // A cmsghdr of SCM_RIGHTS with one descriptor behind it, as long as CMSG_SPACE makes it.
        var control: (length: Int, level: Int32, type: Int32, descriptor: Int32, padding: Int32)
        control = (20, SOL_SOCKET, 1, descriptor, 0)
        return withUnsafeMutablePointer(to: &byte) { byte in
            var vector = iovec(iov_base: byte, iov_len: 1)
            return withUnsafeMutablePointer(to: &vector) { vector in
                withUnsafeMutableBytes(of: &control) { control in
                    var message = msghdr()
                    (message.msg_iov, message.msg_iovlen) = (vector, 1)
                    (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
                    return sendmsg(socket, &message, 0) == 1
                }
            }
        }
    }

    @Test func `bytes come in order, at most as many as asked for, and then the end`() async throws {
        let seen = try await sees { try $0.send(Array("0123456789".utf8)) }
        #expect(seen.last == "end")
        #expect(seen.dropLast().allSatisfy { (Int($0) ?? 9) <= 4 })
        #expect(seen.dropLast().compactMap { Int($0) }.reduce(0, +) == 10)
    }

    @Test func `bytes that wait for the end of the stream go at once when it won't come`() async throws {
        let waiting = try await withLoop { loop in
            let (listener, address) = TestSocket.listening()
            let waiting: [Int32] = await answer(of: loop) { reply in
                let observer = Observer()
                observer.socket = try? StreamSocket(connectingTo: address, on: loop)
                observer.whenReady = { socket in
                    _ = socket.sendScratch(from: 0, length: 3, endFollows: true)
                    let before = socket.unsent
                    socket.pushHeldBack()
                    let after = socket.unsent
                    observer.close()
                    reply([before, after])
                }
                observer.socket?.watch(by: observer, tag: 0)
            }
            _ = listener
            return waiting
        }
        #expect(waiting == [3, 0])
    }

    @Test func `a peer that speaks and resets before it is heard of was connected to`() async throws {
        try await withLoop { loop in
            let (listener, address) = TestSocket.listening()
            let seen: [String] = await answer(of: loop) { reply in
                let observer = Observer()
                observer.socket = try? StreamSocket(connectingTo: address, on: loop)
                // All of it happens in this turn of the loop, as a rule.
                let peer = try? listener.accepted()
                try? peer?.send([1, 2, 3])
                peer?.resetAtClose()
                peer?.close()
                var seen: [String] = []
                observer.whenReady = { socket in
                    if seen.isEmpty { seen.append(socket.connectionError().map { "\($0)" } ?? "connected") }
                    guard StreamSocketTests.observe(socket, &seen) else { return }
                    observer.close()
                    reply(seen)
                }
                observer.socket?.watch(by: observer, tag: 0)
            }
            #expect(seen == ["connected", "3", "reset"])
        }
    }

    @Test func `bytes in front of a reset come, and then the reset`() async throws {
        let seen = try await sees { peer in
            try peer.send([1, 2, 3])
            peer.resetAtClose()
        }
        #expect(seen.last == "reset")
    }

    @Test func `in a busy loop, too, every reset behind bytes is heard of`() async throws {
        let count = 16
        try await withLoop { loop in
            let (listener, address) = TestSocket.listening()
            async let peers: Void = blocking {
                let sockets = try (0..<count).map { _ in try listener.accepted() }
                // Many sockets at a time, several times over: the loop is busy when the resets come.
                for round in 0..<50 {
                    for socket in sockets { try socket.send([UInt8(round)]) }
                }
                for socket in sockets {
                    try socket.send([50])
                    socket.resetAtClose()
                    socket.close()
                }
            }
            let ends: [String] = await answer(of: loop) { reply in
                var ends: [String] = []
                for _ in 0..<count {
                    let observer = Observer()
                    observer.socket = try? StreamSocket(connectingTo: address, on: loop)
                    var seen: [String] = []
                    observer.whenReady = { socket in
                        guard StreamSocketTests.observe(socket, &seen) else { return }
                        observer.close()
                        ends.append(seen.last ?? "")
                        if ends.count == count { reply(ends) }
                    }
                    observer.socket?.watch(by: observer, tag: 0)
                }
            }
            try await peers
            #expect(ends == [String](repeating: "reset", count: count))
        }
    }

    @Test func `a reset behind the end of the stream is told to who asks`() async throws {
        try await withLoop { loop in
            let (listener, address) = TestSocket.listening()
            let (resident, peer) = try await (
                loop.run { () -> LoopBound<Observer> in
                    let observer = Observer()
                    observer.socket = try? StreamSocket(connectingTo: address, on: loop)
                    return LoopBound(observer, on: loop)
                }, listener.accepted()
            )
            let isBrokenAfterEnd: Bool = await answer(of: loop) { reply in
                let observer = resident.value
                var seen: [String] = []
                observer.whenReady = { socket in
                    if StreamSocketTests.observe(socket, &seen) {
                        observer.whenReady = { _ in }
                        reply(socket.isBroken())
                    }
                }
                observer.socket?.watch(by: observer, tag: 0)
                peer.endWriting()
            }
            #expect(!isBrokenAfterEnd)
            let isBroken: Bool = await answer(of: loop) { reply in
                let observer = resident.value
                observer.whenReady = { socket in
                    let isBroken = socket.isBroken() && socket.isBroken() && socket.unacknowledged() == 0
                    observer.close()
                    reply(isBroken)
                }
                peer.resetAtClose()
                peer.close()
            }
            #expect(isBroken)
        }
    }

    @Test func `a refused connection says so`() async throws {
        let (nobody, gone) = TestSocket.refusing()
        defer { nobody.close() }
        try await withLoop { loop in
            let error: SystemError? = await answer(of: loop) { reply in
                let observer = Observer()
                do throws(SystemError) {
                    let socket = try StreamSocket(connectingTo: gone, on: loop)
                    observer.socket = socket
                    observer.whenReady = { socket in
                        let error = socket.connectionError()
                        observer.close()
                        reply(error)
                    }
                    socket.watch(by: observer, tag: 0)
                } catch {
                    reply(error)
                }
            }
            #expect(error?.code == ECONNREFUSED)
            #expect(error?.call == "connect")
        }
    }

    @Test func `a socket that the system has connected to itself is one that was refused`() async throws {
        let (own, address) = TestSocket.refusing()
        try #require(address.withSystemAddress { Glibc.connect(own.descriptor, $0, $1) } == 0)
        try await withLoop { loop in
            let error: SystemError? = await answer(of: loop) { reply in
                let observer = Observer()
                let descriptor = fcntl(own.descriptor, F_DUPFD_CLOEXEC, 0)
                let detached = DetachedSocket(descriptor, loop.system, isUnix: false)
                observer.socket = StreamSocket(detached, on: loop)
                observer.whenReady = { socket in
                    let error = socket.connectionError()
                    observer.close()
                    reply(error)
                }
                observer.socket?.watch(by: observer, tag: 0)
            }
            #expect(error?.code == ECONNREFUSED)
            #expect(error?.call == "connect")
        }
        own.close()
    }

    @Test func `sockets give their descriptors back, however they end`() async throws {
        await #expect(processExitsWith: .success) {
            let suite = StreamSocketTests()
            _ = try await suite.sees { try $0.send([1]) }
            let before = openSocketCount()
            for round in 0..<50 {
                _ = try await suite.sees { if round % 2 == 0 { $0.resetAtClose() } }
            }
            #expect(before >= 0)
            // The last reference to a test's own socket may be let go on another thread.
            let deadline = MonotonicClock.now + .seconds(30)
            while openSocketCount() > before, MonotonicClock.now < deadline { sched_yield() }
            // Fewer are fine: one of the first round may have been there still when they were counted.
            #expect(openSocketCount() <= before)
        }
    }
}

extension StreamSocket {
    /// The bytes that the system has not sent so far (SIOCOUTQNSD of Linux), as tests ask.
    fileprivate var unsent: Int32 {
        var count: Int32 = -1
        return ioctl(descriptor, 0x894B, &count) == 0 ? count : -1
    }
}
