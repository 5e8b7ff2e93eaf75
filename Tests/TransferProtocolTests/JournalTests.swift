import HTTPSemantics
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

    private static func journal(_ records: [JournalRecord]) throws -> Journal {
        try Journal(records: records.map { ($0.kind, $0.payload) })
    }

    /// Distinct hashes.
    private static func hashes(_ count: Int, blockSize: Int64 = 64) -> BlockHashes {
        var hashes = BlockHashes(blockSize: blockSize)
        for index in 0..<count { hashes.append(hash(index)) }
        return hashes
    }

    private static func hash(_ index: Int) -> [UInt8] { (0..<32).map { UInt8(truncatingIfNeeded: index >> $0) } }

    @Test func `a written journal reads back equal`() throws {
        let blocks = Self.hashes(3)
        let journal = try Self.journal([
            .started(Self.source), .checkpoint(Self.checkpoint(100), BlockHashesPart(of: Self.hashes(1), from: 0)),
            .checkpoint(Self.checkpoint(200), BlockHashesPart(of: blocks, from: 1)),
        ])
        #expect(journal.source == Self.source)
        #expect(try journal.checkpoints == [Self.checkpoint(100), Self.checkpoint(200)])
        #expect(journal.blocks == blocks)
        let again = try Self.journal(journal.records)
        #expect(again.source == Self.source)
        #expect(try again.checkpoints.last == Self.checkpoint(200))
        #expect(again.blocks == blocks)
    }

    @Test func `the journal of a file below one block has no hashes`() throws {
        let journal = try Self.journal([.started(Self.source), .checkpoint(Self.checkpoint(100), nil)])
        #expect(JournalRecord.checkpoint(try Self.checkpoint(100), nil).payload.count == 40)
        #expect(journal.blocks.count == 0)
        #expect(journal.trusted(fileSize: 100)?.length == 100)
    }

    @Test func `the newest promise that the file can keep is trusted`() throws {
        let journal = try Self.journal([
            .started(Self.source), .checkpoint(Self.checkpoint(100), nil), .checkpoint(Self.checkpoint(200), nil),
        ])
        #expect(journal.trusted(fileSize: 1_000)?.length == 200)
        #expect(journal.trusted(fileSize: 200)?.length == 200)
        #expect(journal.trusted(fileSize: 199)?.length == 100)
        #expect(journal.trusted(fileSize: 99) == nil)
    }

    @Test func `of a file that lost its end the longest beginning with a hash is trusted`() throws {
        let journal = try Self.journal([
            .started(Self.source), .checkpoint(Self.checkpoint(200), BlockHashesPart(of: Self.hashes(3), from: 0)),
        ])
        #expect(journal.trusted(fileSize: 199) == JournalCheckpoint(length: 192, sha256: Self.hash(2)))
        #expect(journal.trusted(fileSize: 130) == JournalCheckpoint(length: 128, sha256: Self.hash(1)))
        #expect(journal.trusted(fileSize: 63) == nil)
    }

    @Test func `a long list loses every second hash, and what was noted before is read alike`() throws {
        let most = BlockHashes.maximumCount
        let almost = Self.hashes(most - 1)
        let coarse = Self.hashes(most)
        #expect(coarse.blockSize == 128)
        #expect(coarse.count == most / 2)
        #expect(Array(coarse[0]) == Self.hash(1))
        #expect(Array(coarse[most / 2 - 1]) == Self.hash(most - 1))
        var records: [JournalRecord] = [.started(Self.source)]
        var noted = 0
        while let part = BlockHashesPart(of: almost, from: noted) {
            records.append(.checkpoint(try Self.checkpoint(100), part))
            noted = part.end
        }
        records.append(.checkpoint(try Self.checkpoint(200), BlockHashesPart(of: coarse, from: noted / 2)))
        #expect(try Self.journal(records).blocks == coarse)
    }

    @Test func `hashes that leave a gap make no journal`() throws {
        let part = BlockHashesPart(of: Self.hashes(3), from: 2)
        #expect(throws: JournalProblem.unknownRecord(1)) {
            try Self.journal([.started(Self.source), .checkpoint(Self.checkpoint(200), part)])
        }
    }

    @Test func `starting over forgets the promises, learning keeps them`() throws {
        let other = JournalSource(url: "http://h/c", finalURL: "http://h/c", representation: DownloadRepresentation())
        let promised: [JournalRecord] = [
            .started(Self.source), .checkpoint(try Self.checkpoint(100), BlockHashesPart(of: Self.hashes(1), from: 0)),
        ]
        let again = try Self.journal(promised + [.started(other)])
        #expect(again.checkpoints.isEmpty)
        #expect(again.blocks.count == 0)
        #expect(again.source == other)
        let updated = try Self.journal(promised + [.updated(other)])
        #expect(updated.checkpoints.count == 1)
        #expect(updated.blocks.count == 1)
        #expect(updated.source == other)
    }

    @Test func `kinds of later versions are skipped, and what makes no sense isn't believed`() throws {
        let started = JournalRecord.started(Self.source)
        #expect(try Journal(records: [(9, [1]), (started.kind, started.payload), (200, [])]).source == Self.source)
        #expect(throws: JournalProblem.empty) { try Journal(records: []) }
        #expect(throws: JournalProblem.unknownRecord(0)) { try Journal(records: [(1, [1, 2, 3])]) }
        #expect(throws: JournalProblem.unknownRecord(0)) {
            try Journal(records: [(1, FieldList.encode([(1, Array("http://h/".utf8))]))])
        }
        #expect(throws: JournalProblem.unknownRecord(1)) {
            try Journal(records: [(started.kind, started.payload), (3, [UInt8](repeating: 1, count: 41))])
        }
    }

    @Test func `a checkpoint is a length and 32 bytes`() {
        #expect(JournalCheckpoint(length: -1, sha256: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(JournalCheckpoint(length: 0, sha256: [UInt8](repeating: 0, count: 31)) == nil)
    }

    @Test func `a field too long for a record is left out`() throws {
        var source = Self.source
        source.representation.contentType = String(repeating: "x", count: 70_000)
        let journal = try Self.journal([.started(source)])
        #expect(journal.source.representation.contentType == nil)
        #expect(journal.source.url == source.url)
    }

    @Test func `random payloads are never a journal that traps`() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<5_000 {
            let count = Int(generator.next() % 120)
            let noise = (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            let started = JournalRecord.started(Self.source)
            _ = try? Journal(records: [
                (started.kind, started.payload), (UInt8(1 + generator.next() % 3), noise),
            ])
        }
    }
}
