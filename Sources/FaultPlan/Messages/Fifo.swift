/// Elements in order, from which the first leave and to which the last are added, both in constant time on average.
struct Fifo<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    /// The elements at the start that have left.
    private var head = 0

    var count: Int { elements.count - head }
    var first: Element? { head < elements.count ? elements[head] : nil }
    var last: Element? { head < elements.count ? elements[elements.count - 1] : nil }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() {
        head += 1
        // Half of the elements are moved once for as many that have left.
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
