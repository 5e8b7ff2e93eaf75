/// A block of memory with bytes of a queue after a header.
struct Slab {
    /// The size of a slab, including the header: 64 KiB.
    static let size = 64 << 10

    /// The next slab in the queue or pool.
    var next: UnsafeMutablePointer<Slab>?
    /// The range of the bytes, from the slab's start.
    var start: Int
    var end: Int

    /// The start of the bytes in an empty slab.
    static let headerSize = 32
}

/// The free slabs of a loop.
final class SlabPool {
    /// The most free slabs kept: 4 MiB of memory; others are freed at once.
    static let keptLimit = 64

    private var first: UnsafeMutablePointer<Slab>?
    /// The free slabs in the pool.
    private(set) var kept = 0
    /// The number of slabs in use.
    private(set) var taken = 0

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

    func drain() {
        while let slab = first {
            first = slab.pointee.next
            UnsafeMutableRawPointer(slab).deallocate()
        }
        kept = 0
    }
}
