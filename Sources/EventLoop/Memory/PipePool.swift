/// A pipe of a `PipeQueue`.
struct Pipe {
    /// The ends to write to and to read from.
    let input: Int32
    let output: Int32
    /// The bytes in it.
    var count = 0
    /// The next pipe in the pool.
    var next: UnsafeMutablePointer<Pipe>?
}

/// The pipes of a loop.
final class PipePool {
    /// The capacity of a pipe: 1 MiB, the default maximum for unprivileged processes (/proc/sys/fs/pipe-max-size, pipe(7)).
    static let pipeSize = 1 << 20
    /// The most pipes of a loop: 16, which are 32 descriptors.
    static let limit = 16

    /// Whether the system supports splicing sockets; cleared for good at the first refusal.
    var isUsable = true
    /// The number of pipes.
    private(set) var count = 0
    private var free: UnsafeMutablePointer<Pipe>?
    /// Whether the system refused a pipe; cleared when pipes are closed.
    private var isRefused = false

    private let system: SystemCalls

    init(_ system: SystemCalls) {
        self.system = system
    }

    /// The number of pipes in use.
    private(set) var used = 0
    var hasUnused: Bool { free != nil }

    /// Takes an empty pipe; `nil` if all are in use or the system refuses one of this size.
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

    /// Returns a pipe to the pool; one with bytes in it is closed.
    func give(_ pipe: UnsafeMutablePointer<Pipe>) {
        used -= 1
        if pipe.pointee.count > 0 { return close(pipe) }
        pipe.pointee.next = free
        free = pipe
    }

    /// Closes unused pipes.
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
