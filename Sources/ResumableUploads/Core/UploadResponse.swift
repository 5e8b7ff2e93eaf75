import HTTPSemantics
import HTTPTypes
import TransferProtocol

/// A response of the upload server.
package struct UploadResponse: Hashable, Sendable {
    /// The status, 104 or 200 to 599.
    package var status: Int
    /// The fields, except framing and `Date`.
    package var fields: HTTPFields
    /// The content.
    package var content: [UInt8]

    /// Makes a response.
    package init(_ status: Int, _ fields: HTTPFields = [:], content: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.content = content
    }

    /// A response with a sentence as content.
    package static func message(_ status: Int, _ sentence: String) -> UploadResponse {
        UploadResponse(
            status,
            [.contentType: "text/plain; charset=utf-8"],
            content: Array("\(sentence)\n".utf8)
        )
    }

    /// A response with problem details, in the dialects that have them.
    static func problem(_ problem: ProblemDetails, in dialect: UploadWireFormat) -> UploadResponse {
        guard dialect.rules.hasProblemDetails else { return UploadResponse(problem.status) }
        return UploadResponse(problem.status, [.contentType: ProblemDetails.mediaType], content: problem.json)
    }

    /// This response with upload fields.
    func with(_ fields: UploadFields, in dialect: UploadWireFormat) -> UploadResponse {
        var response = self
        dialect.encode(fields, into: &response.fields)
        return response
    }

    /// This response, which names its format.
    func naming(_ dialect: UploadWireFormat) -> UploadResponse {
        var response = self
        dialect.name(in: &response.fields)
        return response
    }

    /// This response with one more field.
    func with(_ name: HTTPField.Name, _ value: String) -> UploadResponse {
        var response = self
        response.fields[name] = value
        return response
    }

    /// An interim response.
    static func interim(_ fields: UploadFields, in dialect: UploadWireFormat) -> UploadResponse {
        UploadResponse(UploadWireRules.interimStatus).with(fields, in: dialect).naming(dialect)
    }

    /// The target's response to a complete upload.
    static func outcome(_ outcome: UploadOutcome, of target: UploadTarget) -> UploadResponse {
        switch outcome.status {
        case .created, .replaced:
            UploadResponse(
                outcome.status.rawValue,
                [.location: target.location, .reprDigest: outcome.digest.headerValue]
            )
        case .digestMismatch: message(400, "The bytes do not have the digest of Repr-Digest.")
        case .notReplaceable: failure(.notReplaceable)
        case .preconditionFailed: failure(.preconditionFailed)
        }
    }

    /// The response to a store failure.
    static func failure(_ failure: UploadStoreFailure) -> UploadResponse {
        switch failure {
        case .noSpace: message(507, "The disk is full.")
        case .disk, .lost: message(500, "The disk failed.")
        case .notReplaceable: message(409, "Something that is not a file has this name.")
        case .preconditionFailed: message(412, "The file is not in the state that the request requires.")
        }
    }
}

extension HTTPField.Name {
    /// `Accept-Patch` (RFC 5789, section 3.1).
    static let acceptPatch = registered("Accept-Patch")
    /// `Content-Digest` (RFC 9530, section 2).
    static let contentDigest = registered("Content-Digest")
}
