import EventLoop
import TestSockets
import Testing
import Units

struct TurnTests {
    private final class Tenant: LoopShutdownHandler {
        let told: Shared<Int>
        init(_ told: Shared<Int>) { self.told = told }
        func loopWillEnd() { told.update { $0 += 1 } }
    }

    /// A handler that says when it goes.
    private final class Mortal: LoopHandler {
        let isGone: Shared<Bool>
        var whenReady: (Mortal, Int) -> Void = { _, _ in }

        init(_ isGone: Shared<Bool>) { self.isGone = isGone }
        deinit { isGone.update { $0 = true } }
        override func socketIsReady(_ tag: Int) { whenReady(self, tag) }
    }

    @Test func `a handler that calls itself for ever leaves timers and jobs their turn`() async throws {
        try await withLoop { loop in
            let turns: Int = await answer(of: loop) { reply in
                let recorder = Recorder()
                let timer = LoopTimer(loop: loop, handler: recorder, tag: 0)
                var turns = 0
                var isOver = false
                recorder.whenReady = { tag in
                    turns += 1
                    if !isOver { loop.callSoon(recorder, tag: tag) }
                }
                recorder.whenFired = { _ in
                    let seen = turns
                    // On a busy machine the time may be over before the second turn.
                    guard seen > 1 else { return timer.set(to: loop.now.advanced(byNanoseconds: 2_000_000)) }
                    loop.post { reply(seen) }
                    isOver = true
                    loop.deferRelease(timer)
                }
                loop.callSoon(recorder, tag: 0)
                timer.set(to: loop.now.advanced(byNanoseconds: 2_000_000))
            }
            #expect(turns > 1)
        }
    }

    @Test func `who is called soon lives until then, even if it is buried in the same turn`() async throws {
        try await withLoop { loop in
            let isGone = Shared(false)
            let wasGone: Bool = await answer(of: loop) { reply in
                let mortal = Mortal(isGone)
                mortal.whenReady = { mortal, tag in
                    if tag == 1 { return reply(isGone.value) }
                    loop.callSoon(mortal, tag: 1)
                    loop.deferRelease(mortal)
                }
                loop.callSoon(mortal, tag: 0)
            }
            #expect(!wasGone)
            try await loop.run {}
            try await loop.run {}
            #expect(isGone.value)
        }
    }

    @Test func `what is buried goes at the end of the turn and not before`() async throws {
        try await withLoop { loop in
            let isGone = Shared(false)
            let wasGone = try await loop.run {
                loop.deferRelease(Mortal(isGone))
                return isGone.value
            }
            #expect(!wasGone)
            try await loop.run {}
            try await loop.run {}
            #expect(isGone.value)
        }
    }

    @Test func `tenants are told of the end once, and those who have left are not`() async throws {
        let loop = try EventLoop()
        let told = Shared(0)
        let toldAfterLeaving = Shared(0)
        try await loop.run {
            let tenant = Tenant(told)
            loop.add(tenant)
            loop.add(tenant)
            let leaving = Tenant(toldAfterLeaving)
            loop.add(leaving)
            loop.remove(leaving)
            loop.remove(leaving)
        }
        await loop.stop()
        await loop.stop()
        #expect(told.value == 1)
        #expect(toldAfterLeaving.value == 0)
    }

    @Test func `a group has the loops asked for, and gives them in turn`() async throws {
        let group = try EventLoopGroup(count: 3)
        #expect(group.loops.map(\.index) == [0, 1, 2])
        #expect((0..<6).map { _ in group.next().index } == [0, 1, 2, 0, 1, 2])
        await group.stop()
        #expect(group.loops.allSatisfy { !$0.post {} })
    }
}
