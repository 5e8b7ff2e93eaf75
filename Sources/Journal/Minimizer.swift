/// Finds a minimal list of elements with which a test still fails, by delta debugging.
///
/// Source: A. Zeller and R. Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE Transactions on Software
/// Engineering 28(2), 2002. The result is 1-minimal: without any one of its elements the test passes.
///
/// A pure value that decides what to test next; elements are numbers from 0 up to a count.
public struct Minimizer: Sendable {
    /// The next step.
    public enum Step: Hashable, Sendable {
        /// Test with these elements, in ascending order, then call `answer`.
        case test([Int])
        /// Done.
        case done(Verdict)
    }

    /// The result.
    public enum Verdict: Hashable, Sendable {
        /// The test fails with these and passes without any one of them.
        case smallest([Int])
        /// The test passes with all of them.
        case neverFails
        /// The test fails with none of them.
        case failsWithout
    }

    private enum State: Sendable {
        case testingAll
        case testingNone
        /// `current` fails; it is split into `parts`, and the part at `index` is tested.
        case reducing(parts: Int, index: Int)
        case done(Verdict)
    }

    /// The smallest failing list so far; initially all elements.
    public private(set) var current: [Int]
    private var state = State.testingAll
    /// The passing lists, so that none is tested twice.
    private var passing: Set<[Int]> = []

    /// Starts with `count` elements, 0 or more.
    public init(count: Int) {
        current = Array(0..<count)
    }

    /// The next step. Asking twice changes nothing.
    public var next: Step {
        switch state {
        case .testingAll: .test(current)
        case .testingNone: .test([])
        case .reducing(let parts, let index): .test(candidate(parts, index))
        case .done(let verdict): .done(verdict)
        }
    }

    /// Takes the result of the test with the elements of `next`. To be called once for each test.
    public mutating func answer(fails: Bool) {
        switch state {
        case .testingAll:
            state = fails ? .testingNone : .done(.neverFails)
            if fails, current.isEmpty { state = .done(.failsWithout) }
        case .testingNone:
            if fails {
                current = []
                state = .done(.failsWithout)
            } else {
                passing.insert([])
                begin(parts: 2)
            }
        case .reducing(let parts, let index):
            let tested = candidate(parts, index)
            if fails {
                current = tested
                // A failing part is split anew; a failing complement keeps its parts.
                begin(parts: index < parts ? 2 : max(2, parts - 1))
            } else {
                passing.insert(tested)
                advance(parts: parts, after: index)
            }
        case .done:
            preconditionFailure("nothing was to be tested, so there is nothing to answer")
        }
    }

    private mutating func begin(parts: Int) {
        guard current.count > 1 else {
            state = .done(.smallest(current))
            return
        }
        state = .reducing(parts: min(parts, current.count), index: 0)
        if passing.contains(candidate(min(parts, current.count), 0)) {
            advance(parts: min(parts, current.count), after: 0)
        }
    }

    private mutating func advance(parts: Int, after index: Int) {
        var parts = parts
        var index = index + 1
        while true {
            if index == 2 * parts {
                guard parts < current.count else {
                    state = .done(.smallest(current))
                    return
                }
                parts = min(current.count, 2 * parts)
                index = 0
            }
            guard passing.contains(candidate(parts, index)) else { break }
            index += 1
        }
        state = .reducing(parts: parts, index: index)
    }

    /// A part, or for an index from `parts` on the complement of one.
    private func candidate(_ parts: Int, _ index: Int) -> [Int] {
        let number = index % parts
        let begin = current.count * number / parts
        let end = current.count * (number + 1) / parts
        if index < parts { return Array(current[begin..<end]) }
        return Array(current[..<begin] + current[end...])
    }
}
