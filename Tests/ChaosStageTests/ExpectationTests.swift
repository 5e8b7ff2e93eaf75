import ChaosStage
import Testing
import Units

/// Testing has a type of this name as well.
private typealias Expectation = ChaosStage.Expectation

/// The language of expectations.
struct ExpectationTests {
    /// Two proxies; the reference passed 1,000 bytes through the first and 500 through the second.
    static let figures: Measurements = {
        var db = Measurements.Proxy(name: "db")
        (db.upstream, db.downstream, db.connections, db.resumptions) = (100, 1_000, 4, 2)
        db.faults = ["cut": 3, "latency": 1]
        var cache = Measurements.Proxy(name: "cache one")
        (cache.upstream, cache.downstream, cache.connections) = (250, 250, 1)
        return Measurements(
            exit: 3,
            time: .milliseconds(1_500),
            proxies: [db, cache],
            reference: [1_000, 500]
        )
    }()

    private static let digests: [String: Result<String, Expectation.DigestFailure>] = [
        "a.bin": .success("ab12"), "b.bin": .success("AB12"), "c.bin": .success("ff00"),
        "gone.bin": .failure(.init(reason: "no such file")),
    ]

    private func failure(_ text: String) throws -> String? {
        try Expectation(text, proxies: ["db", "cache one"]).failure(of: Self.figures, digests: Self.digests)
    }

    @Test(arguments: [
        "exit == 3", "exit != 0", "3 == exit", "time < 2 s", "time >= 1500ms", "bytes == 1600 B", "bytes < 2 KiB",
        "bytes(upstream) == 350 B", "bytes(downstream) == 1250 B", "db.bytes == 1.1 kB", "waste < 10 %",
        "waste > 6.6 %",
        "db.waste == 10 %", "\"cache one\".waste == 0 %", "\"cache one\".bytes(upstream) == 250 B", "connections == 5",
        "db.connections == 4", "resumptions == 2", "faults == 4", "faults(cut) == 3", "db.faults(latency) == 1",
        "\"cache one\".faults == 0", "exit == 3 && faults > 3", "exit == 0 || faults > 3", "!(exit == 0)",
        "!exit == 0 && (faults == 1 || faults == 4)", "exit == 0 || exit == 1 || exit == 3",
        "sha256(\"a.bin\") == sha256(\"b.bin\")", "sha256(\"a.bin\") == \"ab12\"",
        "sha256(\"a.bin\") != sha256(\"c.bin\")",
        "exit==3&&time<2s", "connections >= db.connections",
    ])
    func `an expectation that the figures meet holds`(text: String) throws {
        #expect(try failure(text) == nil)
    }

    @Test(arguments: [
        ("exit == 0", "exit == 0 doesn't hold: exit is 3"),
        (
            "exit == 0 && faults >= 5",
            "exit == 0 && faults >= 5 doesn't hold: exit == 0: exit is 3; faults >= 5: faults is 4"
        ),
        ("exit == 3 && faults >= 5", "exit == 3 && faults >= 5 doesn't hold: faults >= 5: faults is 4"),
        ("exit == 1 || exit == 2", "exit == 1 || exit == 2 doesn't hold: exit == 1: exit is 3; exit == 2: exit is 3"),
        ("waste < 5 %", "waste < 5 % doesn't hold: waste is 6.7 %"),
        ("db.time < 5 s", nil), ("time < 1 s", "time < 1 s doesn't hold: time is 1.5 s"),
        ("!(faults > 3)", "!(faults > 3) doesn't hold: ! faults > 3: faults is 4"),
        ("bytes(upstream) < 10 B", "bytes(upstream) < 10 B doesn't hold: bytes(upstream) is 350 B"),
        (
            "sha256(\"a.bin\") == sha256(\"c.bin\")",
            "sha256(\"a.bin\") == sha256(\"c.bin\") doesn't hold: "
                + "sha256(\"a.bin\") is \"ab12\", sha256(\"c.bin\") is \"ff00\""
        ),
        (
            "sha256(\"gone.bin\") == \"ab12\"",
            "sha256(\"gone.bin\") == \"ab12\" doesn't hold: sha256(\"gone.bin\") is unknown: no such file"
        ),
    ])
    func `a failure names the comparisons that don't hold and their values`(text: String, sentence: String?) throws {
        guard let sentence else {
            #expect(throws: ExpectationError.self) { try failure(text) }
            return
        }
        #expect(try failure(text) == sentence)
    }

    @Test(arguments: ["sha256(\"gone.bin\") != \"ab12\"", "!(sha256(\"gone.bin\") == \"ab12\")"])
    func `what is unknown never holds, and neither does its opposite`(text: String) throws {
        #expect(try failure(text) != nil)
    }

    @Test func `waste is unknown without a run to compare with, and never below zero`() throws {
        var figures = Self.figures
        figures.reference = nil
        let expectation = try Expectation("waste < 100 %", proxies: [])
        #expect(expectation.needsReference)
        #expect(try #require(expectation.failure(of: figures, digests: [:])).contains("waste is unknown"))
        figures.reference = [5_000, 5_000]
        #expect(try Expectation("waste == 0 %", proxies: []).failure(of: figures, digests: [:]) == nil)
    }

    /// A wrong text, the position of its caret, and a word of the message.
    static let wrong: [(text: String, position: Int, word: String)] = [
        ("", 0, "missing"), ("exit", 4, "isn't compared"), ("exit ==", 7, "missing"), ("exit = 0", 5, "“==”"),
        ("exit == 0 & faults > 1", 10, "“&&”"), ("exit == 0 and faults > 1", 10, "“&&”"),
        ("exit == 0 or faults > 1", 10, "“||”"), ("exit == 0 faults > 1", 10, "not expected"),
        ("(exit == 0", 10, "“)”"), ("exit == 0)", 9, "not expected"), ("wast < 5 %", 0, "“waste”"),
        ("waste < 5", 8, "no unit"), ("time < 5", 7, "no unit"), ("time < 5 %", 7, "a share"),
        ("time < 5 parsecs", 7, "duration"),
        ("exit < 5 s", 7, "a number"), ("faults(cutt) > 1", 7, "“cut”"), ("faults( > 1", 8, "missing"),
        ("faults(cut > 1", 11, "“)”"), ("bytes(up) > 1 B", 6, "“upstream”"), ("dbb.faults > 1", 0, "“db”"),
        ("db.exit == 0", 3, "command"), ("db. > 1", 4, "missing"), ("sha256 == \"ab\"", 7, "path"),
        ("sha256(\"a\") < \"b\"", 12, "“==”"), ("1 == 1", 0, "compare a figure"), ("exit == -1", 8, "below zero"),
        ("exit == \"a", 8, "no end"), ("exit == 99999999999999999999", 8, "2⁶³"), ("exit ≤ 3", 5, "“<=”"),
        ("exit == 1.5", 8, "whole number"), ("exit == #", 8, "no meaning"), ("== 3", 0, "in front"),
    ]

    @Test(arguments: wrong.indices)
    func `a wrong expectation is shown with a caret below what is wrong`(index: Int) throws {
        let (text, position, word) = Self.wrong[index]
        let error = try #require(throws: ExpectationError.self) { try Expectation(text, proxies: ["db"]) }
        #expect(error.position == position, "\(error)")
        #expect("\(error.what) (\(error.remedy))".contains(word), "\(error)")
        let lines = error.description.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3)
        #expect(lines[0] == text)
        #expect(lines[1] == String(repeating: " ", count: position) + "^")
    }

    @Test func `the length and the depth of an expectation are bounded`() throws {
        let long = String(repeating: "exit == 0 && ", count: 100) + "exit == 0"
        #expect(throws: ExpectationError.self) { try Expectation(long, proxies: []) }
        func nested(_ depth: Int) -> String {
            String(repeating: "(", count: depth) + "exit == 3" + String(repeating: ")", count: depth)
        }
        #expect(try failure(nested(40)) == nil)
        #expect(throws: ExpectationError.self) { try failure(nested(400)) }
        #expect(throws: ExpectationError.self) { try failure(String(repeating: "!", count: 400) + "exit == 3") }
    }

    @Test func `no text of any characters stops the reader`() {
        var generator = SeededGenerator(seed: 20)
        let pieces = [
            "exit", "waste", "db", ".", "(", ")", "\"", "5 %", "3", "&&", "||", "!", "==", "<", " ", "é", "sha256",
            "\n",
        ]
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...12, using: &generator)
            let text = (0..<count).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            do throws(ExpectationError) {
                let expectation = try Expectation(text, proxies: ["db"])
                _ = expectation.failure(of: Self.figures, digests: [:])
            } catch {
                #expect((0...text.count).contains(error.position), "\(text)")
            }
        }
    }
}
