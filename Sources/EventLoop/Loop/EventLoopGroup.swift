import Glibc
import OperatingSystem
import Synchronization

/// The loops of a process, each with its own thread.
public final class EventLoopGroup: Sendable {
    /// The loops, at least one.
    public let loops: [EventLoop]
    private let turn = Atomic<Int>(0)

    /// Starts `count` loops, at most 256; 0 is one for each available processor.
    ///
    /// - Throws: `SystemError` if a thread or a descriptor can't be created.
    public init(count: Int = 0) throws(SystemError) {
        let wanted = count > 0 ? count : ProcessLimits.processors
        var loops: [EventLoop] = []
        for index in 0..<min(wanted, 256) { loops.append(try EventLoop(index: index)) }
        self.loops = loops
    }

    /// The next loop, round-robin.
    public func next() -> EventLoop {
        let number = turn.wrappingAdd(1, ordering: .relaxed).oldValue
        return loops[Int(UInt(bitPattern: number) % UInt(loops.count))]
    }

    /// Stops every loop and waits for their threads.
    public func stop() async {
        for loop in loops { await loop.stop() }
    }
}
