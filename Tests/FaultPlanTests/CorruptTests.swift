import FaultPlan
import Testing
import Units

@testable import FaultProfile

@Suite("A corruption")
struct CorruptTests {
    private let zeros = [UInt8](repeating: 0, count: 100_000)

    /// The offsets of the bytes that are not zero.
    private func struck(_ bytes: [UInt8]) -> [Int] { bytes.indices.filter { bytes[$0] != 0 } }

    @Test(arguments: [0, 1, 1_459, 65_536, 99_999] as [Int64], [1, 7, 1_460, 65_536, 100_000])
    func `flips one bit of the byte at its offset, however it is read`(offset: Int64, readSize: Int) {
        var link = Link.with(.corrupt(.at(ByteCount(offset))))
        let output = passed(zeros, through: &link, readSize: readSize)
        #expect(struck(output) == [Int(offset)])
        #expect(output[Int(offset)].nonzeroBitCount == 1)
        #expect(output.count == zeros.count)
        #expect(link.takeEvents() == [FaultEvent(fault: 0, offset: offset, effect: .corrupts)])
    }

    @Test
    func `at a rate acts about so many bytes, the same for every read size`() {
        let rate = Corrupt.Position.rate(.percent(1))
        let outputs = [1, 999, 1 << 20].map { readSize in
            var link = Link.with(.corrupt(rate))
            return passed(zeros, through: &link, readSize: readSize)
        }
        #expect(outputs[0] == outputs[1])
        #expect(outputs[0] == outputs[2])
        // 1,000 are expected; the standard deviation is 31.
        #expect((850...1_150).contains(struck(outputs[0]).count))
        var other = Link.with(.corrupt(rate), seed: 2)
        #expect(passed(zeros, through: &other, readSize: 1_000) != outputs[0])
    }

    @Test
    func `at a rate of 100 % acts on every byte, and tells of the first thousand`() {
        var link = Link.with(.corrupt(.rate(.always)))
        let output = passed(zeros, through: &link, readSize: 4_096)
        #expect(struck(output).count == zeros.count)
        #expect(link.takeEvents().map(\.offset) == (0..<1_000).map { Int64($0) })
        // Which bit it is, is drawn: all eight come.
        #expect(Set(output).count == 8)
    }

    @Test
    func `between two offsets acts one byte, drawn for each connection`() {
        var admitter = Admitter.of(.of([.corrupt(.between(ByteCount(10), ByteCount(20))).on(.downstream)]))
        var offsets: Set<Int> = []
        for _ in 0..<200 {
            let connection = admitter.accept(at: .zero)
            var link = connection.downstream
            let found = struck(passed(Array(zeros.prefix(100)), through: &link, readSize: 7))
            #expect(found.count == 1)
            offsets.formUnion(found)
            #expect(!connection.upstream.altersBytes)
        }
        #expect(offsets == Set(10...20))
    }

    @Test
    func `acts in its window only, and leaves the draws behind it as they are`() {
        let rate = Fault.corrupt(.rate(.percent(10)))
        var always = Link.with(rate)
        let whole = passed(zeros, through: &always, readSize: 1_000)
        // A byte comes each millisecond; the fault is on for the second 10,000.
        var windowed = Link.with(rate.when(Condition(ageFrom: .seconds(10), ageUntil: .seconds(20))))
        let part = passed(zeros, through: &windowed, readSize: 1_000) { .milliseconds($0) }
        #expect(struck(part) == struck(whole).filter { (10_000..<20_000).contains($0) })
    }

    @Test
    func `does not move the draws of another fault`() {
        var alone = Link.with(.corrupt(.rate(.percent(1)), name: "a"))
        var both = Link.with(.corrupt(.rate(.percent(1)), name: "a"), .corrupt(.rate(.percent(1)), name: "b"))
        let first = struck(passed(zeros, through: &alone, readSize: 1_000))
        let second = struck(passed(zeros, through: &both, readSize: 1_000))
        #expect(second.count > first.count)
        // Two faults that act one bit of one byte undo each other, which is rare.
        #expect(first.filter { !second.contains($0) }.count <= 3)
    }

    @Test
    func `takes nothing off a cut`() {
        var link = Link.with(.corrupt(.rate(.always)), .cut(at: 5_000))
        #expect(passed(zeros, through: &link, readSize: 777).count == 5_000)
    }

    @Test
    func `tells of the first thousand bytes that it acted, however many passed while it was off`() {
        let late = Fault.corrupt(.rate(.percent(10))).when(Condition(ageFrom: .seconds(1)))
        var link = Link.with(late)
        let output = passed(zeros, through: &link, readSize: 1_000) { $0 < 50_000 ? .zero : .seconds(2) }
        let offsets = struck(output)
        #expect(offsets.count > 1_000 && (offsets.first ?? 0) >= 50_000)
        #expect(link.takeEvents().map(\.offset) == offsets.prefix(1_000).map { Int64($0) })
    }

    @Test(arguments: 0...7)
    func `flips the bit that it is told to`(bit: Int) {
        let corrupt = Corrupt(position: .at(ByteCount(77)), bit: bit)
        var link = Link.with(Fault(name: "corrupt", kind: .corrupt(corrupt)))
        #expect(passed(zeros, through: &link, readSize: 100)[77] == 1 << bit)
    }

    @Test
    func `draws the bit that it says it would draw`() {
        for offset in 0..<50 as Range<Int64> {
            var admitter = Admitter(
                Plan(
                    profile: .of([.corrupt(.at(ByteCount(offset)), name: "x")]),
                    seed: 9,
                    proxy: "p",
                    start: .zero
                )
            )
            _ = admitter.accept(at: .zero)
            var link = admitter.accept(at: .zero).downstream
            let output = passed(Array(zeros.prefix(60)), through: &link, readSize: 9)
            let bit = Corrupt.drawnBit(
                at: offset,
                of: "x",
                connection: 2,
                direction: .downstream,
                proxy: "p",
                seed: 9
            )
            #expect(output[Int(offset)] == 1 << bit)
        }
    }
}
