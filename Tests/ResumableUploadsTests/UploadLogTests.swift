import DurableFiles
import HTTPTypes
import Testing
import TransferProtocol
import Units

@testable import ResumableUploads

/// Logs of earlier versions, which name the format of an upload by its interop version.
@Suite struct UploadLogTests {
    /// Field 9 has the name of the format, field 3 the interop version.
    private static func old(_ record: RecordLog.Record, _ format: UploadWireFormat) throws -> RecordLog.Record {
        let fields = try #require(FieldList.decode(record.payload[...]))
        var version: [UInt8] = []
        version.appendLittleEndian(UInt64(format.interopVersion))
        let named = fields.map { $0.name == 9 ? (name: 3, value: version) : ($0.name, Array($0.value)) }
        return RecordLog.Record(kind: record.kind, payload: FieldList.encode(named))
    }

    @Test(arguments: UploadWireFormat.allCases)
    func `a log without the name of the format is continued in the format of its version`(
        format: UploadWireFormat
    ) throws {
        var (server, token) = try UploadTable.server(format, received: 4)
        server.stop()
        let path = SimulatedServer.folder.appending(UploadStore.folderName).appending("\(token).log")
        let limit = UploadLog.maximumSize
        let contents = try DurableLog.read(path, UploadLog.format, limit: limit, in: server.disk).get()
        let creation = try #require(contents.records.first)
        let records = [try Self.old(creation, format)] + contents.records.dropFirst()
        #expect(records.first != creation)
        #expect(UploadLog.summary(of: records) == UploadLog.summary(of: contents.records))
        try DurableLog.replace(path, UploadLog.format, with: records, in: server.disk).close()

        try server.begin()
        let rest = Array([UInt8].numbered(10)[4...])
        let fields = format.fields(isComplete: true, offset: 4, isAppend: true)
        let response = try UploadTable.response(&server, 2, .patch, .upload(token), fields, content: rest)
        #expect(response.status == 201)
        #expect(try server.file("file.bin") == .numbered(10))
    }

    @Test func `an upload in a format of an unknown version stays without one`() throws {
        let (server, token) = try UploadTable.server(received: 4)
        let path = SimulatedServer.folder.appending(UploadStore.folderName).appending("\(token).log")
        let limit = UploadLog.maximumSize
        let contents = try DurableLog.read(path, UploadLog.format, limit: limit, in: server.disk).get()
        var version: [UInt8] = []
        version.appendLittleEndian(UInt64(4))
        let creation = try #require(contents.records.first)
        let fields = try #require(FieldList.decode(creation.payload[...]))
        let named = fields.map { $0.name == 9 ? (name: 3, value: version) : ($0.name, Array($0.value)) }
        let record = RecordLog.Record(kind: creation.kind, payload: FieldList.encode(named))
        #expect(UploadLog.summary(of: [record])?.record.dialect == nil)
    }
}
