import Testing

@testable import TransferProtocol

@Suite struct UploadJournalRecordTests {
    private static func creation() throws -> UploadJournal.Creation {
        UploadJournal.Creation(
            target: "http://host.example/target",
            resource: UploadResource(
                url: try TransferURL("http://host.example/uploads/1"),
                dialect: .v6,
                expiresAt: 1_700_000_000
            ),
            source: UploadSource(length: 7, device: 1, inode: .max, modified: -1, changed: 3),
            sha256: Array(repeating: 9, count: 32)
        )
    }

    @Test func `a journal is read as it was written`() throws {
        let creation = try Self.creation()
        let record = UploadJournal.Record.creation(creation)
        let end = UploadJournal.Record.completionBegan
        #expect(try UploadJournal([(record.kind, record.payload)]) == UploadJournal(creation: creation))
        let full = try UploadJournal([(record.kind, record.payload), (9, [1]), (end.kind, end.payload)])
        #expect(full == UploadJournal(creation: creation, mayBeComplete: true))
    }

    @Test func `a journal of an unknown dialect is refused by its name`() throws {
        var payload = UploadJournal.Record.creation(try Self.creation()).payload
        let index = try #require(payload.indices.first { payload[$0...].starts(with: "load-6".utf8) })
        payload[index + 5] = UInt8(ascii: "7")
        #expect(throws: UploadJournalProblem.unknownDialect("resumable-upload-7")) { try UploadJournal([(3, payload)]) }
    }

    @Test func `before the creation is complete there is no journal`() throws {
        let record = UploadJournal.Record.creation(try Self.creation())
        #expect(throws: UploadJournalProblem.damaged) { try UploadJournal([]) }
        #expect(throws: UploadJournalProblem.damaged) { try UploadJournal([(2, []), (record.kind, record.payload)]) }
        for count in record.payload.indices {
            #expect(throws: UploadJournalProblem.damaged, "\(count)") {
                try UploadJournal([(record.kind, Array(record.payload.prefix(count)))])
            }
        }
    }
}
