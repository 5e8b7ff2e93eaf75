import EventLoop
import Glibc
import OperatingSystem
import TestSockets
import Testing
import Units

struct ProcessTests {
    @Test func `a signal is a call on the loop each time it comes, until it is cancelled`() async throws {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            let source = Shared<LoopBound<EventSource>?>(nil)
            for _ in 0..<3 {
                let isOnLoop: Bool = await answer(of: loop) { reply in
                    let made = EventSource(signal: SIGUSR1, on: loop) { reply(loop.isCurrent) }
                    let resident = LoopBound(made, on: loop)
                    source.update { $0 = resident }
                    kill(getpid(), SIGUSR1)
                }
                #expect(isOnLoop)
                try await loop.run { source.value?.value.cancel() }
            }
            await loop.stop()
        }
    }

    @Test func `a signal that is no longer watched does what it did before`() async throws {
        await #expect(processExitsWith: .signal(SIGUSR1)) {
            let loop = try EventLoop()
            try await loop.run {
                let source = EventSource(signal: SIGUSR1, on: loop) {}
                source.cancel()
            }
            kill(getpid(), SIGUSR1)
            // It comes to whichever thread takes signals, and when that one has its turn.
            let deadline = MonotonicClock.now + .seconds(30)
            while MonotonicClock.now < deadline { sched_yield() }
        }
    }

    @Test func `as many files may be open as the system lets`() async throws {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 64, rlim_max: 512)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #expect(ProcessLimits.raiseOpenFiles() == 512)
            #expect(ProcessLimits.raiseOpenFiles() == 512)
        }
    }

    @Test func `loops give their descriptors back`() async throws {
        await #expect(processExitsWith: .success) {
            func openCount() -> Int {
                (0..<256).count { fcntl(Int32($0), F_GETFD) >= 0 }
            }
            await (try EventLoopGroup(count: 2)).stop()
            // A loop's thread lets go of it as its last act, shortly after `stop`.
            let before = openCount()
            for _ in 0..<20 { await (try EventLoopGroup(count: 2)).stop() }
            var rounds = 0
            while openCount() > before, rounds < 1_000_000 {
                sched_yield()
                rounds += 1
            }
            #expect(openCount() <= before)
        }
    }

    @Test func `an error says what failed, in which call, and its number`() {
        let error = SystemError(call: "bind", code: EADDRINUSE)
        #expect(error.description == "Address already in use (bind, errno 98)")
        #expect(error.isAddressInUse)
        #expect(!error.isStopped)
        #expect(SystemError(call: "event loop", code: ECANCELED).isStopped)
    }
}
