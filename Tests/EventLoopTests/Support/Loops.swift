import TestStreams
import Units

@testable import EventLoop

/// Runs `body` with a loop of its own, which is stopped afterwards.
func withLoop<Result>(_ body: (EventLoop) async throws -> Result) async throws -> Result {
    let loop = try EventLoop()
    return try await ending(loop, after: body) { await loop.stop() }
}

/// Runs `body` on `loop` with a way to answer later, and waits for the answer.
func answer<Answer: Sendable>(
    of loop: EventLoop,
    _ body: @escaping @Sendable (_ reply: @escaping @Sendable (Answer) -> Void) -> Void
) async -> Answer {
    await withCheckedContinuation { continuation in
        let isTaken = loop.post { body { continuation.resume(returning: $0) } }
        precondition(isTaken, "the loop refused a job")
    }
}

/// A handler that does what the test says.
final class Recorder: LoopHandler {
    var whenReady: (Int) -> Void = { _ in }
    var whenFired: (Int) -> Void = { _ in }

    /// One that does `body` when a socket is ready.
    static func doing(_ body: @escaping () -> Void) -> Recorder {
        let recorder = Recorder()
        recorder.whenReady = { _ in body() }
        return recorder
    }

    override func socketIsReady(_ tag: Int) { whenReady(tag) }
    override func timerFired(_ tag: Int) { whenFired(tag) }
}

/// A clock of a test.
struct Moments: MomentSource {
    let next: () -> Moment

    init(_ next: @escaping () -> Moment) { self.next = next }

    var now: Moment { next() }
}
