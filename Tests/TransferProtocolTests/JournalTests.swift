import Testing
import TransferProtocol
import Units

@Suite struct JournalTests {
    private static let source: JournalSource = {
        var representation = DownloadRepresentation()
        representation.entityTag = EntityTag("\"v1\"")
        representation.lastModified = "Sunday, 06-Nov-94 08:49:36 GMT"
        representation.date = HTTPDate(secondsSinceEpoch: 784_111_777)
        representation.total = 300
        representation.contentType = "text/plain; charset=é"
        representation.digest = ReprDigest(sha256: Array(0..<32))
        return JournalSource(url: "http://h/a", finalURL: "http://h/b", representation: representation)
    }()

    private static func checkpoint(_ length: Int64) throws -> JournalCheckpoint {
        try #require(JournalCheckpoint(length: length, sha256: [UInt8](repeating: UInt8(length % 251), count: 32)))
    }

    private static func journal() throws -> [UInt8] {
        try Journal.header + JournalRecord.started(source).encoded
            + JournalRecord.checkpoint(checkpoint(100)).encoded + JournalRecord.checkpoint(checkpoint(200)).encoded
    }

    @Test func `what is written is read`() throws {
        let bytes = try Self.journal()
        let journal = try Journal(bytes)
        #expect(journal.source == Self.source)
        #expect(try journal.checkpoints == [Self.checkpoint(100), Self.checkpoint(200)])
        #expect(journal.validLength == bytes.count)
    }

    @Test func `the newest promise that the file can keep is trusted`() throws {
        let journal = try Journal(Self.journal())
        #expect(journal.trusted(fileSize: 1_000)?.length == 200)
        #expect(journal.trusted(fileSize: 200)?.length == 200)
        #expect(journal.trusted(fileSize: 199)?.length == 100)
        #expect(journal.trusted(fileSize: 99) == nil)
    }

    @Test func `a torn last record is ignored at every length`() throws {
        let bytes = try Self.journal()
        let started = Journal.header.count + JournalRecord.started(Self.source).encoded.count
        let checkpoint = try JournalRecord.checkpoint(Self.checkpoint(100)).encoded.count
        for count in 0...bytes.count {
            let torn = Array(bytes.prefix(count))
            if count < started {
                #expect(throws: JournalProblem.self) { try Journal(torn) }
            } else {
                let journal = try Journal(torn)
                #expect(journal.checkpoints.count == (count - started) / checkpoint)
                #expect(journal.validLength == started + journal.checkpoints.count * checkpoint)
            }
        }
    }

    @Test func `no flipped bit changes a promise`() throws {
        let bytes = try Self.journal()
        let promised = try Journal(bytes).checkpoints
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << UInt8(bit)
                guard let journal = try? Journal(damaged) else { continue }
                #expect(promised.starts(with: journal.checkpoints))
                #expect(journal.source == Self.source)
            }
        }
    }

    @Test func `starting over forgets the promises, learning keeps them`() throws {
        let other = JournalSource(url: "http://h/c", finalURL: "http://h/c", representation: DownloadRepresentation())
        let again = try Journal(Self.journal() + JournalRecord.started(other).encoded)
        #expect(again.checkpoints.isEmpty)
        #expect(again.source == other)
        let learned = try Journal(Self.journal() + JournalRecord.learned(other).encoded)
        #expect(learned.checkpoints.count == 2)
        #expect(learned.source == other)
    }

    @Test func `another version, another file and an empty one are told apart`() throws {
        var newer = try Self.journal()
        newer[Journal.header.count - 1] = 2
        #expect(throws: JournalProblem.unknownVersion(2)) { try Journal(newer) }
        #expect(throws: JournalProblem.notAJournal) { try Journal(Array("{\"a\": 1}, and more".utf8)) }
        #expect(throws: JournalProblem.empty) { try Journal([]) }
        #expect(throws: JournalProblem.empty) { try Journal(Journal.header) }
    }

    @Test func `a checkpoint is a length and 32 bytes`() {
        #expect(JournalCheckpoint(length: -1, sha256: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(JournalCheckpoint(length: 0, sha256: [UInt8](repeating: 0, count: 31)) == nil)
    }

    @Test func `a field too long for a record is left out`() throws {
        var source = Self.source
        source.representation.contentType = String(repeating: "x", count: 70_000)
        let journal = try Journal(Journal.header + JournalRecord.started(source).encoded)
        #expect(journal.source.representation.contentType == nil)
        #expect(journal.source.url == source.url)
    }

    @Test func `random bytes are never a journal that traps`() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<2_000 {
            let count = Int(generator.next() % 60)
            let noise = (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            _ = try? Journal(noise)
            #expect((try? Journal(Journal.header + noise)) == nil)
        }
    }
}
