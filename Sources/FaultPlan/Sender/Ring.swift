/// A queue of records that keep their number, from the first one ever appended on.
///
/// Appending allocates only when more are in the queue than ever before. With a Deque in its place BBR takes a fifth more time.
struct Ring<Element: Sendable>: Sendable {
    private static var leastCapacity: Int { 16 }

    /// A power of two in number, once there is one.
    private var slots: ContiguousArray<Element> = []
    /// What is in unused slots.
    private let unused: Element
    /// The number of the first element, and of the one that is appended next.
    private(set) var start = 0
    private(set) var end = 0

    /// Makes an empty queue; `unused` is any element, for the slots that hold none.
    init(unused: Element) { self.unused = unused }

    var isEmpty: Bool { start == end }
    var count: Int { end - start }

    subscript(number: Int) -> Element {
        get { slots[number & (slots.count - 1)] }
        set { slots[number & (slots.count - 1)] = newValue }
    }

    /// Appends an element.
    // Inlined, and the element passed to no other function, so that it is made in its slot.
    @inline(__always)
    mutating func append(_ element: Element) {
        if count == slots.count { grow() }
        slots[end & (slots.count - 1)] = element
        end += 1
    }

    mutating func removeFirst() { start += 1 }

    /// Removes the elements up to a number of the queue.
    mutating func removeFirst(through number: Int) { start = number + 1 }

    mutating func removeAll() { start = end }

    private mutating func grow() {
        var larger = ContiguousArray(repeating: unused, count: max(Self.leastCapacity, slots.count * 2))
        for number in start..<end { larger[number & (larger.count - 1)] = self[number] }
        slots = larger
    }
}
