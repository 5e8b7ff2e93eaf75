import SimulatedLink
import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("An insertion")
struct InsertTests {
    private let counted = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
    private let added = Array("<added>".utf8)

    private func insert(at offset: Int64, _ text: String = "<added>", name: String = "insert") -> Fault {
        Fault(name: name, kind: .insert(Insert(position: .at(ByteCount(offset)), bytes: Array(text.utf8))))
    }

    @Test(arguments: [0, 1, 5_000, 9_999, 10_000], [1, 7, 100, 10_000])
    func `puts its bytes in and goes on with the rest, however it is read`(offset: Int, readSize: Int) {
        var link = Link.with(insert(at: Int64(offset)))
        let output = passed(counted, through: &link, readSize: readSize)
        #expect(output == Array(counted.prefix(offset) + added + counted.dropFirst(offset)))
        #expect(link.arrived == Int64(output.count))
        #expect(link.takeEvents() == [FaultEvent(fault: 0, offset: Int64(offset), effect: .inserts)])
    }

    @Test func `doesn't wait for the byte behind it`() {
        var link = Link.with(insert(at: 10))
        #expect(link.nextAlteration(of: 10, now: .zero) == .insert(index: 10, bytes: added))
        #expect(link.nextAlteration(of: 17, now: .zero) == nil)
    }

    @Test func `behind the end of the stream never happens`() {
        var link = Link.with(insert(at: 10_001))
        #expect(passed(counted, through: &link, readSize: 512) == counted)
        #expect(link.takeEvents().isEmpty)
    }

    @Test func `off when its offset comes, it does not happen`() {
        var link = Link.with(insert(at: 100).when(Condition(ageFrom: .seconds(1))))
        #expect(passed(counted, through: &link, readSize: 64) { .milliseconds($0 / 100) } == counted)
    }

    @Test(arguments: [1, 3, 64, 10_000])
    func `counts for the faults behind it, and what it put in can be taken out again`(readSize: Int) {
        var link = Link.with(insert(at: 100), .truncate(at: 103, 10), .corrupt(.at(ByteCount(110))), .cut(at: 200))
        let output = passed(counted, through: &link, readSize: readSize)
        var expected = Array(counted[..<100] + added.prefix(3) + counted[106...].prefix(97))
        expected[110] = output.count > 110 ? output[110] : 0
        #expect(output == expected)
        #expect((output[110] ^ counted[113]).nonzeroBitCount == 1)
    }

    @Test(arguments: [1, 3, 64, 10_000])
    func `takes the place of what vanishes at its offset, and stands in front of what was put in before`(readSize: Int)
    {
        var link = Link.with(insert(at: 100, "ab"), .truncate(at: 100, 50), insert(at: 101, "cd", name: "second"))
        let output = passed(counted, through: &link, readSize: readSize)
        #expect(output == Array(counted[..<100] + "acdb".utf8 + counted[150...]))
    }

    @Test(arguments: [1, 7, 100, 10_000])
    func `follows those of its offset that are in front of it in the profile`(readSize: Int) {
        var link = Link.with(
            insert(at: 100, "one"),
            insert(at: 100, "two", name: "second"),
            insert(at: 100, "three", name: "third"),
            insert(at: 300, "four", name: "fourth")
        )
        let output = passed(counted, through: &link, readSize: readSize)
        let inserted = Array(counted[..<100] + "onetwothree".utf8 + counted[100..<289])
        #expect(output == inserted + Array("four".utf8) + Array(counted[289...]))
        #expect(link.takeEvents().map(\.offset) == [100, 103, 106, 300])
    }

    @Test(arguments: [false, true])
    func `acts behind the first pattern that is found while it is on`(isLate: Bool) {
        let pattern = BytePattern(Array("END".utf8))
        let fault = Fault(name: "insert", kind: .insert(Insert(position: .pattern(pattern), bytes: added)))
        var link = Link.with(isLate ? fault.when(Condition(ageFrom: .seconds(1))) : fault)
        link.note(.pattern(fault: 0, at: 5))
        #expect(link.nextAlteration(of: 5, now: .zero) == (isLate ? nil : .insert(index: 5, bytes: added)))
        link.bytesArrived(isLate ? 5 : 12)
        link.note(.pattern(fault: 0, at: 9))
        #expect(link.nextAlteration(of: 8, now: .seconds(2)) == (isLate ? .insert(index: 4, bytes: added) : nil))
    }

    /// A cut in a message's content stays at the same byte of the content, wherever bytes were put in before.
    @Test(arguments: [(0, 7), (10, 7), (20, 7), (23, 7), (25, 7), (26, 0)])
    func `moves positions in messages with their messages`(offset: Int64, moved: Int64) {
        let cut = Cut(position: .at(ByteCount(5)), how: .close, base: .body)
        var link = Link.with(insert(at: offset), Fault(name: "cut", kind: .cut(cut)))
        let message = Message(request: 1, method: "GET", target: "/", status: 200)
        let marks: [Mark] = [.message(message, at: 0), .body(offset: 0, at: 20, count: 30), .end(at: 50)]
        for mark in marks { link.note(mark) }
        var count: Int64 = 50
        while let alteration = link.nextAlteration(of: count, now: .zero) {
            if case .insert(_, let bytes) = alteration { count += Int64(bytes.count) }
        }
        link.bytesArrived(count)
        let decision = link.decide(available: 0, now: .zero)
        #expect(decision.writeOffset == 25 + (offset == 25 ? 0 : moved))
    }

    /// The cut is found only once the bytes in front of it have come, and others with them.
    @Test(arguments: [1, 7, 60, 1_000])
    func `has no change behind a cut told, however it is read`(readSize: Int) {
        let long = Insert(position: .at(ByteCount(20)), bytes: [UInt8](repeating: 1, count: 100))
        var link = Link.with(
            Fault(name: "long", kind: .insert(long)),
            .corrupt(.at(ByteCount(30))),
            .corrupt(.at(ByteCount(130)), name: "behind"),
            .truncate(at: 140, 5),
            .cut(at: 60)
        )
        _ = passed(counted, through: &link, readSize: readSize)
        _ = link.decide(available: 0, now: .zero)
        #expect(link.takeEvents().map(\.effect) == [.inserts, .corrupts])
    }

    @Test func `in a simulation the bytes are there as well`() {
        var simulation = LinkSimulation(
            .with(insert(at: 2)),
            arrivals: [.init(at: .zero, bytes: 4, end: .finish)]
        )
        simulation.run()
        #expect(simulation.link.delivered == 11)
        #expect(simulation.alterations == [.insert(index: 2, bytes: added)])
    }

    @Test(arguments: [
        (#""at": "1 B", "bytes": """#, "2:43: an insertion has 1 to 4096 bytes, not 0"),
        (#""at": "1 B", "bytes": { "hex": "123" }"#, "2:43: “123” are no bytes in digits"),
        (#""at": "1 B""#, "2:1: an insert fault needs the key “bytes” (add “\"bytes\": \"<b>Buy!</b>\"”)"),
        (#""bytes": "x""#, "2:1: an insert fault needs one of the keys “at”, “pattern” (add “\"at\": \"64 KiB\"”)"),
        (
            #""pattern": "x", "bytes": "x", "when": { "http": {} }"#,
            "“http” can't narrow an insert fault: its pattern is looked for in the whole stream"
        ),
    ])
    func `with a mistake in it is named with its place`(keys: String, problem: String) {
        let text = "{ \"name\": \"x\", \"faults\": [\n{ \"kind\": \"insert\", \(keys) } ] }"
        let thrown = #expect(throws: ProfileProblems.self) {
            try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        }
        #expect(thrown?.description.contains(problem) == true, "\(thrown?.description ?? "")")
    }

    @Test(arguments: [#""at": "0 B", "bytes": "é""#, #""pattern": { "hex": "0d0a" }, "bytes": { "hex": "00 ff" }"#])
    func `is read and written back`(keys: String) throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "insert", \#(keys) } ] }"#
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let written = ProfileSource(file: "p.json", text: ProfileWriter.text(of: profile))
        #expect(try ProfileReader.profile(from: written) == profile)
    }
}
