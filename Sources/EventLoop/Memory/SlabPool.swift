/// A interval of memory that holds bytes of a queue, with a header in front of them.
struct Slab {
    /// Bytes of memory in a slab, the header included: 64 KiB.
    static let size = 64 << 10

    /// The slab behind this one in its queue or pool.
    var next: UnsafeMutablePointer<Slab>?
    /// Where the bytes begin and end, counted from the slab's start.
    var start: Int
    var end: Int

    /// Where the bytes of an empty slab begin.
    static let headerSize = 32
}

/// The free slabs of a loop.
final class SlabPool {
    /// Free slabs that are kept: 4 MiB of memory. Beyond it they go back to the system at once.
    static let keptLimit = 64

    private var first: UnsafeMutablePointer<Slab>?
    /// The free slabs in the pool.
    private(set) var kept = 0
    /// The slabs that queues use.
    private(set) var taken = 0

    /// An empty slab.
    func take() -> UnsafeMutablePointer<Slab> {
        let slab: UnsafeMutablePointer<Slab>
        if let first {
            slab = first
            self.first = slab.pointee.next
            kept -= 1
        } else {
            slab = UnsafeMutableRawPointer.allocate(byteCount: Slab.size, alignment: 64).assumingMemoryBound(
                to: Slab.self
            )
        }
        taken += 1
        slab.initialize(to: Slab(next: nil, start: Slab.headerSize, end: Slab.headerSize))
        return slab
    }

    /// Takes back a slab that nobody uses any more.
    func give(_ slab: UnsafeMutablePointer<Slab>) {
        taken -= 1
        if kept == SlabPool.keptLimit {
            UnsafeMutableRawPointer(slab).deallocate()
            return
        }
        slab.pointee.next = first
        first = slab
        kept += 1
    }

    /// Gives every free slab back to the system.
    func drain() {
        while let slab = first {
            first = slab.pointee.next
            UnsafeMutableRawPointer(slab).deallocate()
        }
        kept = 0
    }
}
