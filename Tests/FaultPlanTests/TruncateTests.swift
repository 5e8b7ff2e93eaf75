import FaultPlan
import SimulatedLink
import Testing
import Units

@testable import FaultProfile

@Suite("A truncation")
struct TruncateTests {
    private let counted = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }

    @Test(arguments: [(0, 1), (0, 10_000), (1, 9_998), (5_000, 100), (9_999, 1), (9_999, 500)], [1, 7, 100, 10_000])
    func `takes its bytes out and joins the rest, however it is read`(_ place: (at: Int, bytes: Int), readSize: Int) {
        var link = Link.with(.truncate(at: Int64(place.at), Int64(place.bytes)))
        let output = passed(counted, through: &link, readSize: readSize)
        #expect(output == Array(counted.prefix(place.at) + counted.dropFirst(place.at + place.bytes)))
        #expect(link.arrived == Int64(output.count))
        #expect(link.takeEvents() == [FaultEvent(fault: 0, offset: Int64(place.at), effect: .truncates)])
    }

    @Test
    func `behind the end of the stream never happens`() {
        var link = Link.with(.truncate(at: 10_000, 5))
        #expect(passed(counted, through: &link, readSize: 512) == counted)
        #expect(link.takeEvents().isEmpty)
    }

    @Test
    func `what vanished has no offset for the faults behind it`() {
        var link = Link.with(.truncate(at: 100, 50), .corrupt(.at(ByteCount(100))), .cut(at: 200))
        let output = passed(counted, through: &link, readSize: 64)
        #expect(output.count == 200)
        #expect(output[100] != counted[150])
        #expect((output[100] ^ counted[150]).nonzeroBitCount == 1)
        #expect(Array(output[101...]) == Array(counted[151..<250]))
    }

    @Test
    func `off when its bytes come, it does not happen`() {
        let fault = Fault.truncate(at: 100, 50).when(Condition(ageFrom: .seconds(1)))
        var link = Link.with(fault)
        #expect(passed(counted, through: &link, readSize: 64) { .milliseconds($0 / 100) } == counted)
    }

    /// Each offset counts in a message of 60 bytes; a message that is too short follows it at once.
    @Test(arguments: [(50, 10), (59, 1), (60, 0)])
    func `in a message takes nothing of the next one`(at: Int64, taken: Int64) {
        for condition in [Condition(), Condition(http: HTTPCondition(path: TextPattern("/a")))] {
            let kind = FaultKind.truncate(Truncate(at: ByteCount(at), base: .message, bytes: ByteCount(100)))
            var link = Link.with(Fault(name: "truncate", condition: condition, kind: kind))
            let message = Message(request: 1, method: "GET", target: "/a", status: 200)
            link.note(.message(message, at: 0))
            link.note(.end(at: 60))
            link.note(.message(Message(request: 2, method: "GET", target: "/b", status: 200), at: 60))
            link.note(.end(at: 70))
            #expect(removed(from: link.bytesTaken(70, now: .zero)) == taken)
        }
    }

    /// Three messages of 60 bytes, all selected, in one stream. Their ends are known before their bytes come, or with the
    /// message after them.
    @Test(arguments: [false, true], [1, 7, 60])
    func `in a message takes nothing of the next one if that is selected as well`(isLate: Bool, readSize: Int64) {
        let all = Condition(http: HTTPCondition())
        let cases: [(base: OffsetBase, condition: Condition, taken: [Int64])] = [
            (.message, Condition(), [10, 10, 10]), (.message, all, [10, 10, 10]), (.connection, all, [10, 0, 0]),
        ]
        for (base, condition, taken) in cases {
            let kind = FaultKind.truncate(Truncate(at: ByteCount(50), base: base, bytes: ByteCount(65)))
            var link = Link.with(Fault(name: "truncate", condition: condition, kind: kind))
            var counts: [Int64] = []
            for number in 1...3 as ClosedRange<Int64> {
                let start = (number - 1) * 60
                if isLate, number > 1 { link.note(.end(at: start)) }
                link.note(.message(Message(request: number, method: "GET", target: "/", status: 200), at: start))
                if !isLate { link.note(.end(at: start + 60)) }
                counts.append(0)
                for offset in stride(from: 0, to: 60, by: Int(readSize)) {
                    let count = min(readSize, 60 - Int64(offset))
                    counts[counts.count - 1] += removed(from: link.bytesTaken(count, now: .zero))
                }
            }
            #expect(counts == taken, "\(base)")
        }
    }

    /// The first message, which is too short for the truncation, ends in front of a range that another one removes.
    @Test func `in a message keeps its target when an earlier message ends`() {
        let messages = Fault(
            name: "messages",
            kind: .truncate(Truncate(at: ByteCount(70), base: .message, bytes: ByteCount(20)))
        )
        let stream = Fault(name: "stream", kind: .truncate(Truncate(at: ByteCount(125), bytes: ByteCount(10))))
        var link = Link.with(messages, stream)
        for (number, start, end) in [(1, 0, 60), (2, 60, 200)] as [(Int64, Int64, Int64)] {
            link.note(.message(Message(request: number, method: "GET", target: "/", status: 200), at: start))
            link.note(.end(at: end))
        }
        #expect(removed(from: link.bytesTaken(200, now: .zero)) == 25)
    }

    private func removed(from alterations: [Alteration]) -> Int64 {
        alterations.reduce(0) { if case .drop(_, let count) = $1 { $0 + count } else { $0 } }
    }

    @Test
    func `in a simulation the bytes are gone as well`() {
        var simulation = LinkSimulation(
            .with(.truncate(at: 2, 3)),
            arrivals: [.init(at: .zero, bytes: 4), .init(at: .milliseconds(1), bytes: 4, end: .finish)]
        )
        simulation.run()
        #expect(simulation.link.delivered == 5)
        #expect(simulation.deliveries.last?.end == .finish)
        #expect(simulation.alterations == [.drop(index: 2, count: 2), .drop(index: 0, count: 1)])
    }
}
