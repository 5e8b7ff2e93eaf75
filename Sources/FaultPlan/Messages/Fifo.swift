/// A queue with amortized constant-time append and removal of the first element.
struct Fifo<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    /// The removed elements at the start of the array.
    private var head = 0

    var count: Int { elements.count - head }
    var first: Element? { head < elements.count ? elements[head] : nil }
    var last: Element? { head < elements.count ? elements[elements.count - 1] : nil }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() {
        head += 1
        // Compacting when half are removed keeps the cost constant on average.
        guard head * 2 >= elements.count else { return }
        elements.removeFirst(head)
        head = 0
    }

    mutating func removeLast() { elements.removeLast() }

    mutating func replaceFirst(with element: Element) { elements[head] = element }

    mutating func replaceLast(with element: Element) { elements[elements.count - 1] = element }

    mutating func removeAll(where isRemoved: (Element) -> Bool) {
        elements.removeFirst(head)
        head = 0
        elements.removeAll(where: isRemoved)
    }
}
