import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("A fault of HTTP")
struct HTTPTests {
    private func fault(_ fault: HTTPFault, _ condition: HTTPCondition? = nil) -> Fault {
        Fault(name: "http", condition: Condition(http: condition), kind: .http(fault))
    }

    private func message(_ request: Int64, _ path: String = "/", status: Int? = nil) -> Message {
        Message(request: request, method: "GET", target: path, status: status)
    }

    @Test
    func `that answers ends the stream of requests in front of the one that it picks`() {
        let unavailable = HTTPFault.answer(HTTPAnswer(status: 503))
        var admitter = Admitter.of(.of([fault(unavailable, HTTPCondition(requests: .range(2...2)))]))
        var link = admitter.accept(at: .zero).upstream
        link.note(.message(message(1), at: 0))
        link.note(.end(at: 100))
        link.note(.message(message(2), at: 100))
        link.note(.end(at: 250))
        link.bytesArrived(250)
        #expect(link.decide(available: 0, now: .zero).writeOffset == 100)
        link.bytesDelivered(100)
        #expect(link.decide(available: 0, now: .zero).end == .answer(request: 2, fault: 0))
        #expect(link.takeEvents().isEmpty, "it isn't given yet")
    }

    @Test
    func `that answers is off outside of its phase`() {
        let unavailable = fault(.answer(HTTPAnswer(status: 503)))
        let profile = Profile.of([], phases: [.lasting(.seconds(1)), .lasting(nil, unavailable, name: "down")])
        for (moment, isAnswered) in [(Moment.zero, false), (.seconds(2), true)] {
            var admitter = Admitter.of(profile)
            var link = admitter.accept(at: moment).upstream
            link.note(.message(message(1), at: 0))
            link.note(.end(at: 10))
            link.bytesArrived(10)
            let decision = link.decide(available: 0, now: moment)
            #expect((decision.end == .answer(request: 1, fault: 0)) == isAnswered)
            #expect(decision.writeOffset == (isAnswered ? 0 : 10))
        }
    }

    @Test
    func `that drops takes out informational responses of its codes and leaves the others`() {
        var admitter = Admitter.of(.of([fault(.drop(StatusSelection(104...104)))]))
        var link = admitter.accept(at: .zero).downstream
        let marks: [Mark] = [
            .message(message(1, status: 103), at: 0), .end(at: 10), .message(message(1, status: 104), at: 10),
            .end(at: 30), .message(message(1, status: 200), at: 30), .end(at: 60),
        ]
        for mark in marks { link.note(mark) }
        #expect(link.nextAlteration(of: 60, now: .zero) == .drop(index: 10, count: 20))
        #expect(link.nextAlteration(of: 40, now: .zero) == nil)
        link.bytesArrived(40)
        #expect(link.decide(available: 0, now: .zero).writeOffset == 40)
        let place = MessagePlace(base: .connection, request: 1)
        #expect(link.takeEvents() == [FaultEvent(fault: 0, offset: nil, place: place, effect: .drops)])
    }

    @Test
    func `that drops has nothing to do behind inserted bytes, and finds its response there`() {
        let insert = Fault(name: "insert", kind: .insert(Insert(position: .at(ByteCount(4)), bytes: [1, 2, 3])))
        var admitter = Admitter.of(.of([insert, fault(.drop(StatusSelection(103...103)))]))
        var link = admitter.accept(at: .zero).downstream
        #expect(link.nextAlteration(of: 10, now: .zero) == .insert(index: 4, bytes: [1, 2, 3]))
        #expect(link.nextAlteration(of: 13, now: .zero) == nil)
        link.bytesArrived(13)
        link.note(.message(message(1, status: 103), at: 12))
        link.note(.end(at: 30))
        #expect(link.nextAlteration(of: 40, now: .zero) == .drop(index: 2, count: 18))
    }

    @Test
    func `a corruption that is narrowed to messages waits behind inserted bytes for its message`() {
        let insert = Fault(name: "insert", kind: .insert(Insert(position: .at(ByteCount(4)), bytes: [1, 2, 3])))
        let corrupt = Fault.corrupt(.at(ByteCount(8))).when(Condition(http: HTTPCondition(path: TextPattern("/slow"))))
        var admitter = Admitter.of(.of([insert, corrupt]))
        var link = admitter.accept(at: .zero).downstream
        link.note(.message(message(1, "/fast", status: 200), at: 0))
        #expect(link.nextAlteration(of: 20, now: .zero) == .insert(index: 4, bytes: [1, 2, 3]))
        #expect(link.nextAlteration(of: 23, now: .zero) == nil)
    }

    @Test(arguments: [
        FaultKind.corrupt(Corrupt(position: .at(ByteCount(.max)), base: .message)),
        .truncate(Truncate(at: ByteCount(.max), base: .message, bytes: ByteCount(.max))),
    ])
    func `an offset that no message reaches is not reached behind inserted bytes either`(kind: FaultKind) {
        let insert = Fault(name: "insert", kind: .insert(Insert(position: .at(ByteCount(4)), bytes: [1, 2, 3])))
        var admitter = Admitter.of(.of([insert, Fault(name: "far", kind: kind)]))
        var link = admitter.accept(at: .zero).downstream
        link.note(.message(message(1, status: 200), at: 0))
        #expect(link.nextAlteration(of: 20, now: .zero) == .insert(index: 4, bytes: [1, 2, 3]))
        #expect(link.nextAlteration(of: 23, now: .zero) == nil)
    }

    @Test
    func `has the other direction alone`() {
        var admitter = Admitter.of(.of([fault(.answer(HTTPAnswer(status: 503)))]))
        let connection = admitter.accept(at: .zero)
        #expect(connection.downstream.isTransparent)
        #expect(connection.reading.messages)
        var other = Admitter.of(.of([fault(.drop(StatusSelection(103...103)))]))
        #expect(other.accept(at: .zero).upstream.isTransparent)
    }

    @Test
    func `a latency that is narrowed to messages delays those and lets the others pass`() {
        let slow = Fault.latency(.seconds(1)).when(Condition(http: HTTPCondition(path: TextPattern("/slow"))))
        var admitter = Admitter.of(.of([slow]))
        var link = admitter.accept(at: .zero).downstream
        link.note(.message(message(1, "/fast", status: 200), at: 0))
        link.note(.end(at: 10))
        link.note(.message(message(2, "/slow", status: 200), at: 10))
        link.note(.end(at: 30))
        link.bytesArrived(30)
        #expect(link.decide(available: 0, now: .zero).writeOffset == 10)
        link.bytesDelivered(10)
        #expect(link.decide(available: 0, now: .milliseconds(999)).writeOffset == 10)
        #expect(link.decide(available: 0, now: .seconds(1)).writeOffset == 30)
        link.bytesDelivered(20)
        link.note(.message(message(3, "/fast", status: 200), at: 30))
        link.note(.end(at: 35))
        link.bytesArrived(5)
        #expect(link.decide(available: 0, now: .seconds(1)).writeOffset == 35)
    }

    @Test
    func `a rate that is narrowed to messages holds those alone`() {
        let slow = Fault.bandwidth(bytesPerSecond: 1_000)
            .when(Condition(http: HTTPCondition(path: TextPattern("/slow"))))
        var admitter = Admitter.of(.of([slow]))
        var link = admitter.accept(at: .zero).downstream
        link.note(.message(message(1, "/fast", status: 200), at: 0))
        link.note(.end(at: 100_000))
        link.note(.message(message(2, "/slow", status: 200), at: 100_000))
        link.note(.end(at: 101_000))
        link.bytesArrived(101_000)
        var delivered: [Moment: Int64] = [:]
        var now = Moment.zero
        while link.delivered < 101_000, now < .seconds(10) {
            let decision = link.decide(available: 0, now: now)
            let due = decision.writeOffset - link.delivered
            if due > 0 { link.bytesDelivered(due) } else { now = decision.wake }
            delivered[now] = link.delivered
        }
        #expect(delivered[.zero] == 100_000)
        #expect((Moment.milliseconds(900)...Moment.milliseconds(1_100)).contains(now))
    }

    @Test
    func `what narrows a fault remembers no message that has passed`() {
        let condition = HTTPCondition(path: TextPattern("/"))
        let filter = MessageFilter(condition, key: RandomKey(seed: 1))
        var gate = MessageGate(filter)
        for number in 0..<10_000 as Range<Int64> {
            gate.pass(number * 10)
            gate.note(.message(message(number + 1), at: number * 10))
            gate.note(.end(at: number * 10 + 10))
            #expect(gate.count == 1)
        }
        // A corruption far behind is never asked about, and still nothing piles up.
        let corrupt = Fault.corrupt(.at(.mebibytes(1 << 20))).when(Condition(http: condition))
        var admitter = Admitter.of(.of([corrupt]))
        var link = admitter.accept(at: .zero).downstream
        for number in 0..<1_000 as Range<Int64> {
            link.note(.message(message(number + 1, status: 200), at: number * 10))
            link.note(.end(at: number * 10 + 10))
            #expect(link.nextAlteration(of: 10, now: .zero) == nil)
            link.bytesArrived(10)
        }
        #expect(link.rememberedMessages <= 2)
    }

    @Test
    func `a stall in the message comes again in each that is picked`() {
        let stall = Fault(
            name: "stall",
            stream: .downstream,
            kind: .stall(Stall(at: .zero, base: .message, duration: .seconds(1)))
        )
        var admitter = Admitter.of(.of([stall]))
        var link = admitter.accept(at: .zero).downstream
        var now = Moment.zero
        for request in 1...3 as ClosedRange<Int64> {
            link.note(.message(message(request, status: 200), at: (request - 1) * 10))
            link.note(.end(at: request * 10))
            link.bytesArrived(10)
            let decision = link.decide(available: 0, now: now)
            #expect(decision.writeOffset == (request - 1) * 10)
            #expect(decision.wake == now + .seconds(1))
            now = now + .seconds(1)
            #expect(link.decide(available: 0, now: now).writeOffset == request * 10)
            link.bytesDelivered(10)
            #expect(link.takeEvents().map(\.place?.request) == [request])
        }
    }

    /// What a link hands over of three answers that came in one read, `/slow` the second: how far, and when.
    private func deliveries(_ fault: Fault, sizes: [Int64]) -> [(moment: Moment, offset: Int64)] {
        var admitter = Admitter.of(.of([fault.when(Condition(http: HTTPCondition(path: TextPattern("/slow"))))]))
        var link = admitter.accept(at: .zero).downstream
        var position: Int64 = 0
        for (index, size) in sizes.enumerated() {
            link.note(.message(message(Int64(index) + 1, index == 1 ? "/slow" : "/fast", status: 200), at: position))
            position += size
            link.note(.end(at: position))
        }
        link.bytesArrived(position)
        var deliveries: [(moment: Moment, offset: Int64)] = []
        var now = Moment.zero
        while link.delivered < position, now < .seconds(100) {
            let decision = link.decide(available: 0, now: now)
            let due = decision.writeOffset - link.delivered
            if due > 0 {
                link.bytesDelivered(due)
                deliveries.append((now, link.delivered))
            } else {
                now = decision.wake
            }
        }
        return deliveries
    }

    @Test
    func `a trace that is narrowed to messages holds them to the last of their bytes`() {
        let trace = Trace(file: "test", opportunities: [1], queue: .kibibytes(256))
        let all = deliveries(Fault(name: "trace", kind: .trace(trace)), sizes: [5_000, 6_000, 7_000])
        // 6,000 bytes take four opportunities, of which there is one in each millisecond.
        #expect(all.map(\.offset) == [5_000, 6_500, 8_000, 9_500, 18_000])
        #expect(all.first?.moment == .zero)
        #expect(all.last?.moment == .milliseconds(4))
    }

    @Test
    func `slices that are narrowed to messages are those of all their bytes, and of no other`() {
        let slice = Fault(name: "slice", kind: .slice(Slice(size: ByteCount(100), spread: .zero, pause: .zero)))
        let all = deliveries(slice, sizes: [1_000, 250, 2_000])
        #expect(all.map(\.offset) == [1_000, 1_100, 1_200, 1_250, 3_250])
        let paused = Fault(
            name: "slice",
            kind: .slice(Slice(size: ByteCount(100), spread: .zero, pause: .milliseconds(1)))
        )
        let slow = deliveries(paused, sizes: [1_000, 250, 2_000])
        #expect(slow.map(\.offset) == [1_000, 1_100, 1_200, 1_250, 3_250])
        #expect(slow.last?.moment == .milliseconds(2))
    }

    @Test(arguments: [1, 7, 500] as [Int64])
    func `a truncation that is narrowed to messages takes nothing of the next one, however they are read`(
        readSize: Int64
    ) {
        let slow = HTTPCondition(path: TextPattern("/slow"))
        let truncate = Fault.truncate(at: 150, 1_000).when(Condition(http: slow))
        var admitter = Admitter.of(.of([truncate]))
        var link = admitter.accept(at: .zero).downstream
        // Bytes 100 to 200 are of the answer that is picked.
        let marks: [Mark] = [
            .message(message(1, "/fast", status: 200), at: 0), .end(at: 100),
            .message(message(2, "/slow", status: 200), at: 100), .end(at: 200),
            .message(message(3, "/fast", status: 200), at: 200), .end(at: 500),
        ]
        for mark in marks { link.note(mark) }
        var left: Int64 = 500
        while left > 0 {
            link.bytesTaken(min(readSize, left), now: .zero)
            left -= min(readSize, left)
        }
        #expect(link.arrived == 450)
    }

    @Test
    func `nothing piles up while all that comes vanishes`() {
        var admitter = Admitter.of(.of([.truncate(at: 100, 1 << 40)]))
        var link = admitter.accept(at: .zero).downstream
        link.note(.message(message(1, status: 200), at: 0))
        for number in 0..<1_000 as Range<Int64> {
            link.note(.body(offset: number * 100, at: number * 100, count: 100))
            link.bytesTaken(100, now: .zero)
            #expect(link.waitingMarks == 0)
        }
        #expect(link.arrived == 100)
    }

    @Test
    func `positions are where they were although every other answer in front of them vanishes`() {
        var queue = MarkQueue()
        let count: Int64 = 20_000
        for number in 0..<count {
            queue.append(.message(message(1, status: 103), at: number * 20))
            queue.append(.end(at: number * 20 + 20))
        }
        // The first 5 bytes of the answers of even numbers are left, and all of the others.
        for number in stride(from: 0, to: count, by: 2) { queue.bytesVanished(15, at: number / 2 * 25 + 5) }
        var offsets: [Int64] = []
        while let mark = queue.next() { offsets.append(mark.offset) }
        let expected = (0..<count).flatMap { number -> [Int64] in
            let start = number / 2 * 25 + (number.isMultiple(of: 2) ? 0 : 5)
            return [start, start + (number.isMultiple(of: 2) ? 5 : 20)]
        }
        #expect(offsets == expected)
        #expect(queue.isEmpty)
    }
}
