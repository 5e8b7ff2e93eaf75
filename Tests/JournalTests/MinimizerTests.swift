import Journal
import Testing
import Units

@Suite("The search for the smallest list")
struct MinimizerTests {
    /// Searches with a test that `fails` decides; returns the verdict and the lists tested, in order.
    private func search(_ count: Int, _ fails: ([Int]) -> Bool) -> (verdict: Minimizer.Verdict, tested: [[Int]]) {
        var minimizer = Minimizer(count: count)
        var tested: [[Int]] = []
        while true {
            switch minimizer.next {
            case .done(let verdict): return (verdict, tested)
            case .test(let list):
                tested.append(list)
                minimizer.answer(fails: fails(list))
            }
        }
    }

    @Test(arguments: [[0], [39], [7, 13], [0, 39], [3, 4, 5], [1, 9, 17, 25, 33]])
    func `finds the elements that it takes, wherever they are`(needed: [Int]) {
        let (verdict, tested) = search(40) { list in needed.allSatisfy(list.contains) }
        #expect(verdict == .smallest(needed))
        #expect(tested.count <= 40 * needed.count)
    }

    @Test func `keeps everything where everything is needed`() {
        #expect(search(12) { $0.count == 12 }.verdict == .smallest(Array(0..<12)))
    }

    @Test func `of two ways to fail finds one, without anything to spare`() {
        let fails: ([Int]) -> Bool = { list in list.contains(3) && list.contains(30) || list.contains(17) }
        guard case .smallest(let found) = search(40, fails).verdict else {
            Issue.record("nothing was found")
            return
        }
        #expect(found == [17] || found == [3, 30])
    }

    @Test(arguments: 0..<200)
    func `ends with a list that fails and passes without any one of it, whatever the test`(seed: Int) {
        // A test without a system: whether a list fails is drawn, but all of them fail and none passes.
        func fails(_ list: [Int]) -> Bool {
            guard list.count < 20, !list.isEmpty else { return !list.isEmpty }
            let key = list.reduce(RandomKey(seed: UInt64(seed))) { $0.adding(UInt64($1)) }
            return key.fraction(at: 0) < 0.3
        }
        let (verdict, tested) = search(20, fails)
        guard case .smallest(let found) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(fails(found))
        for left in found { #expect(found.count == 1 || !fails(found.filter { $0 != left })) }
        #expect(Set(tested).count == tested.count, "no list is tested twice")
    }

    @Test func `tells a command that never fails from one that always does`() {
        #expect(search(5) { _ in false }.verdict == .neverFails)
        #expect(search(5) { _ in true }.verdict == .failsWithout)
        #expect(search(0) { _ in true }.verdict == .failsWithout)
        #expect(search(0) { _ in false }.verdict == .neverFails)
        #expect(search(1) { $0 == [0] }.verdict == .smallest([0]))
    }

    @Test func `knows the smallest list so far at every time`() {
        var minimizer = Minimizer(count: 8)
        #expect(minimizer.current == Array(0..<8))
        for _ in 0..<6 {
            guard case .test(let list) = minimizer.next else { break }
            minimizer.answer(fails: list.contains(6))
            #expect(minimizer.current.contains(6))
        }
        #expect(minimizer.current.count < 8)
        #expect(minimizer.next == minimizer.next, "asking twice changes nothing")
    }
}
