import HTTPTypes
import ResumableUploads
import Testing
import TransferProtocol

/// Lengths and offsets at the limits of their range. An overflow would trap.
@Suite struct UploadNumberTests {
    private static let extremes: [Int64] = [.max, .max - 1, .max - 4, UploadFields.largest, .min, -1]

    @Test(arguments: UploadWireFormat.allCases, extremes)
    func `an append with an extreme length is refused, and the upload can be resumed`(
        dialect: UploadWireFormat,
        count: Int64
    ) throws {
        for length in [nil, 10] as [Int64?] {
            for isComplete in [true, false] {
                var (server, token) = try UploadTable.server(dialect, received: 4, length: length)
                let fields = dialect.fields(isComplete: isComplete, offset: 4, isAppend: true)
                server.request(2, .patch, .upload(token), fields, contentLength: count)
                server.settle()
                guard case .respond(_, let response)? = server.takeSent().last else {
                    throw ScriptedUploader.Broken(reason: "no response")
                }
                #expect(response.status == 413)
                let head = try UploadTable.response(&server, 3, .head, .upload(token), dialect.fields())
                #expect(dialect.decode(head.fields).offset == 4)
            }
        }
    }

    @Test(arguments: UploadWireFormat.allCases, extremes)
    func `extreme numbers in the fields of an append are refused`(dialect: UploadWireFormat, number: Int64) throws {
        let fields: [HTTPFields] = [
            [.uploadOffset: "\(number)"], [.uploadOffset: "4", .uploadLength: "\(number)"],
            [.uploadOffset: "\(number)", .uploadLength: "\(number)"],
        ]
        for more in fields {
            var (server, token) = try UploadTable.server(dialect, received: 4, length: nil)
            var fields = dialect.fields(isComplete: true, isAppend: true)
            for field in more { fields[field.name] = field.value }
            server.request(2, .patch, .upload(token), fields, contentLength: .max)
            server.settle()
            guard case .respond(_, let response)? = server.takeSent().last else {
                throw ScriptedUploader.Broken(reason: "no response")
            }
            #expect([400, 409, 413].contains(response.status))
        }
    }

    @Test(arguments: UploadWireFormat.allCases, extremes)
    func `a creation with an extreme length is refused`(dialect: UploadWireFormat, number: Int64) throws {
        for isComplete in [true, false] {
            var server = try SimulatedServer(seed: 1)
            try server.begin()
            var fields = dialect.fields(isComplete: isComplete)
            server.request(1, .put, .target(.file), fields, contentLength: number)
            fields[.uploadLength] = "\(number)"
            server.request(2, .put, .target(.file), fields, contentLength: number)
            server.request(3, .put, .target(.file), [:], contentLength: number)
            server.settle()
            #expect(server.count == 0)
            #expect(server.takeSent().count == 3)
        }
    }
}
