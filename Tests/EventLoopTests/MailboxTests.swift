import Dispatch
import OperatingSystem
import TestSockets
import Testing
import Units

@testable import EventLoop

struct MailboxTests {
    @Test func `jobs run in the order in which each thread posted them`() async throws {
        try await withLoop { loop in
            let seen = Shared<[[Int]]>([[], [], [], []])
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                for number in 0..<500 {
                    loop.post { seen.update { $0[thread].append(number) } }
                }
            }
            try await loop.run {}
            #expect(seen.value == Array(repeating: Array(0..<500), count: 4))
        }
    }

    @Test func `a full mailbox refuses jobs, never runs them, and still lets the loop stop`() async throws {
        let loop = try EventLoop()
        let gate = DispatchSemaphore(value: 0)
        let isHeld = DispatchSemaphore(value: 0)
        loop.post {
            isHeld.signal()
            gate.wait()
        }
        let ran = Shared(0)
        let refused = try await blocking {
            isHeld.wait()
            for _ in 0..<Mailbox.limit where !loop.post({ ran.update { $0 += 1 } }) { return -1 }
            return (0..<3).filter { _ in !loop.post({ ran.update { $0 += 1_000_000 } }) }.count
        }
        #expect(refused == 3)
        async let stopped: Void = loop.stop()
        gate.signal()
        await stopped
        #expect(ran.value == Mailbox.limit)
    }

    @Test func `after a stop posts are refused and runs throw, and stopping again is fine`() async throws {
        let loop = try EventLoop()
        async let first: Void = loop.stop()
        async let second: Void = loop.stop()
        _ = await (first, second)
        await loop.stop()
        #expect(!loop.post {})
        #expect(!loop.isCurrent)
        let error = await #expect(throws: SystemError.self) { try await loop.run {} }
        #expect(error?.isStopped == true)
    }

    @Test func `jobs posted before a stop run before it`() async throws {
        let loop = try EventLoop()
        let ran = Shared(0)
        for _ in 0..<100 { loop.post { ran.update { $0 += 1 } } }
        await loop.stop()
        #expect(ran.value == 100)
    }

    @Test func `the loop is the current one on its own thread only`() async throws {
        try await withLoop { loop in
            #expect(!loop.isCurrent)
            let isCurrent = try await loop.run { loop.isCurrent }
            #expect(isCurrent)
        }
    }

    @Test func `what belongs to a loop traps on any other thread`() async throws {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            loop.callSoon(Recorder(), tag: 0)
        }
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            _ = LoopTimer(loop: loop, handler: Recorder(), tag: 0)
        }
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            let resident = try await loop.run { LoopBound(1, on: loop) }
            _ = resident.value
        }
    }
}
