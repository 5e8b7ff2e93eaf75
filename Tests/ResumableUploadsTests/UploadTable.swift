import HTTPTypes
import ResumableUploads
import Testing
import TransferProtocol

/// Requests to a simulated server, one at a time.
enum UploadTable {
    /// A server with one upload of `received` bytes out of `length`, and its token.
    static func server(
        _ dialect: UploadWireFormat = .newest,
        received: Int = 0,
        length: Int64? = 10,
        policy: UploadPolicy = UploadPolicy(),
        seed: UInt64 = 1
    ) throws -> (SimulatedServer, UploadToken) {
        var server = try SimulatedServer(seed: seed)
        server.policy = policy
        try server.begin()
        server.request(
            1,
            .post,
            .target(.file),
            dialect.fields(isComplete: false, length: length),
            contentLength: Int64(received)
        )
        server.settle()
        let sent = server.takeSent()
        guard case .interim(_, let response) = sent.first, let location = response.fields[.location],
            let token = UploadToken(location.dropFirst("/.uploads/".count))
        else { throw ScriptedUploader.Broken(reason: "\(sent)") }
        if received > 0 { server.handle(.content(UploadRequestID(1), .numbered(received))) }
        server.handle(.contentEnded(UploadRequestID(1)))
        server.settle()
        _ = server.takeSent()
        return (server, token)
    }

    /// The final response to a request without content, or with all of it at once.
    static func response(
        _ server: inout SimulatedServer,
        _ id: UInt64,
        _ method: HTTPRequest.Method,
        _ resource: UploadRequestHead.Resource,
        _ fields: HTTPFields,
        content: [UInt8] = [],
        isChunked: Bool = false
    ) throws -> UploadResponse {
        server.request(id, method, resource, fields, contentLength: isChunked ? nil : Int64(content.count))
        server.settle()
        if case .receive = server.sent.last {
            if !content.isEmpty { server.handle(.content(UploadRequestID(id), content)) }
            server.handle(.contentEnded(UploadRequestID(id)))
            server.settle()
        }
        for case .respond(UploadRequestID(id), let response) in server.takeSent() { return response }
        throw ScriptedUploader.Broken(reason: "no response")
    }
}
