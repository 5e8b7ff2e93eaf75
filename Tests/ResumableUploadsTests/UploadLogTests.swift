import DurableFiles
import HTTPTypes
import Testing
import TransferProtocol

@testable import ResumableUploads

/// What a server makes of the log of another version.
@Suite struct UploadLogTests {
    /// Field 9 has the name of the format.
    @Test func `an upload in a format of an unknown name stays without one`() throws {
        let (server, token) = try UploadTable.server(received: 4)
        let path = SimulatedServer.folder.appending(UploadStore.folderName).appending("\(token).log")
        let limit = UploadLog.maximumSize
        let contents = try DurableLog.read(path, UploadLog.format, limit: limit, in: server.disk).get()
        let creation = try #require(contents.records.first)
        #expect(UploadLog.summary(of: [creation])?.record.dialect == .newest)
        let fields = try #require(FieldList.decode(creation.payload[...]))
        let named = fields.map { $0.name == 9 ? (name: 9, value: [UInt8](0...3)) : ($0.name, Array($0.value)) }
        let record = RecordLog.Record(kind: creation.kind, payload: FieldList.encode(named))
        let summary = try #require(UploadLog.summary(of: [record]))
        #expect(summary.record.dialect == nil)
    }
}
