/// A pipe of the system that a `PipeQueue` uses.
struct Pipe {
    /// The ends to write to and to read from.
    let input: Int32
    let output: Int32
    /// The bytes in it.
    var count = 0
    /// The pipe behind this one in the pool.
    var next: UnsafeMutablePointer<Pipe>?
}

/// The pipes of a loop.
final class PipePool {
    /// The bytes that a pipe has room for: 1 MiB, which is what a system gives to anybody if nobody has changed it
    /// (/proc/sys/fs/pipe-max-size, pipe(7)).
    static let pipeSize = 1 << 20
    /// The pipes of a loop at most, in use or not: 16, which are 32 descriptors.
    static let limit = 16

    /// Whether sockets can be spliced; untrue for good when the system has refused it.
    var isUsable = true
    /// The pipes that there are.
    private(set) var count = 0
    private var free: UnsafeMutablePointer<Pipe>?
    /// Whether the system has given none; it isn't asked again before the pipes have gone back.
    private var isRefused = false

    private let system: SystemCalls

    init(_ system: SystemCalls) {
        self.system = system
    }

    /// The pipes that queues use.
    private(set) var used = 0
    /// Whether some pipe is used by nobody.
    var hasUnused: Bool { free != nil }

    /// An empty pipe; `nil` when all are in use, or when the system gives none of this size.
    func take() -> UnsafeMutablePointer<Pipe>? {
        guard isUsable else { return nil }
        if let pipe = free {
            free = pipe.pointee.next
            used += 1
            return pipe
        }
        guard count < PipePool.limit, !isRefused else { return nil }
        guard let (input, output) = system.makePipe(size: PipePool.pipeSize) else {
            isRefused = true
            return nil
        }
        count += 1
        used += 1
        let pipe = UnsafeMutablePointer<Pipe>.allocate(capacity: 1)
        pipe.initialize(to: Pipe(input: input, output: output))
        return pipe
    }

    /// Takes back a pipe that nobody uses any more; one with bytes in it is closed.
    func give(_ pipe: UnsafeMutablePointer<Pipe>) {
        used -= 1
        if pipe.pointee.count > 0 { return close(pipe) }
        pipe.pointee.next = free
        free = pipe
    }

    /// Closes the pipes that nobody uses.
    func drain() {
        isRefused = false
        while let pipe = free {
            free = pipe.pointee.next
            close(pipe)
        }
    }

    private func close(_ pipe: UnsafeMutablePointer<Pipe>) {
        system.close(pipe.pointee.input)
        system.close(pipe.pointee.output)
        pipe.deallocate()
        count -= 1
    }
}
