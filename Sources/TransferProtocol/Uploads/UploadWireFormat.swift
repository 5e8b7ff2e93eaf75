import HTTPSemantics
import HTTPTypes

/// How uploads are written as HTTP messages: an interop version of the resumable upload drafts
/// (draft-ietf-httpbis-resumable-upload).
///
/// A client encodes the plan of a request and decodes responses; a server decodes requests and encodes responses. All
/// differences between versions are in `rules`; nothing else compares versions. The raw value is the name in journals and
/// logs, which doesn't change.
public enum UploadWireFormat: String, CaseIterable, Hashable, Sendable {
    /// Draft 01.
    case v3 = "resumable-upload-3"
    /// Draft 03.
    case v5 = "resumable-upload-5"
    /// Drafts 04 and 05.
    case v6 = "resumable-upload-6"
    /// Drafts 09 to 11.
    case v8 = "resumable-upload-8"
    /// Draft 12.
    case v9 = "resumable-upload-9"
    /// Draft 13.
    case v10 = "resumable-upload-10"

    /// The format that clients offer first.
    public static let newest = UploadWireFormat.v10

    /// The rules of this version.
    public var rules: UploadWireRules {
        switch self {
        case .v3: .v3
        case .v5: .v5
        case .v6: .v6
        case .v8: .v8
        case .v9: .v9
        case .v10: .v10
        }
    }

    /// The value of `Upload-Draft-Interop-Version`.
    public var interopVersion: Int64 {
        switch self {
        case .v3: 3
        case .v5: 5
        case .v6: 6
        case .v8: 8
        case .v9: 9
        case .v10: 10
        }
    }

    /// The format of an interop version, as requests name it; `nil` if unsupported.
    public init?(interopVersion: Int64) { self.init(rawValue: "resumable-upload-\(interopVersion)") }

    /// The interop version that a message names; `nil` when absent or not a non-negative integer.
    public static func interopVersion(in fields: HTTPFields) -> Int64? {
        StructuredItem.count(fields[.uploadDraftInteropVersion])
    }

    /// The format that a message names; `nil` if none or an unsupported one.
    public init?(namedIn fields: HTTPFields) {
        guard let version = Self.interopVersion(in: fields) else { return nil }
        self.init(interopVersion: version)
    }

    /// Names the format in a message.
    public func name(in fields: inout HTTPFields) { fields[.uploadDraftInteropVersion] = String(interopVersion) }

    /// The upload fields of a message. Ignores fields that the format lacks.
    public func decode(_ fields: HTTPFields) -> UploadFields {
        let rules = rules
        return UploadFields(
            isComplete: StructuredItem.boolean(fields[rules.flagName]).map { $0 != rules.isFlagInverted },
            offset: StructuredItem.count(fields[.uploadOffset]),
            length: rules.hasLengthField ? StructuredItem.count(fields[.uploadLength]) : nil,
            limits: fields[.uploadLimit].flatMap { UploadLimits($0, in: self) }
        )
    }

    /// Writes the upload fields that are set and that the format has. Offset and length are clamped to
    /// 0...`UploadFields.largest`.
    public func encode(_ message: UploadFields, into fields: inout HTTPFields) {
        let rules = rules
        if let isComplete = message.isComplete {
            fields[rules.flagName] = isComplete != rules.isFlagInverted ? "?1" : "?0"
        }
        if let offset = message.offset { fields[.uploadOffset] = StructuredItem.text(offset) }
        if rules.hasLengthField, let length = message.length { fields[.uploadLength] = StructuredItem.text(length) }
        if let limits = message.limits?.headerValue(in: self) { fields[.uploadLimit] = limits }
    }

    /// The upload fields of an interim response; `nil` unless it is a 104 of this format.
    func decodeInterim(status: Int, _ fields: HTTPFields) -> UploadFields? {
        guard status == UploadWireRules.interimStatus, UploadWireFormat(namedIn: fields) == self else { return nil }
        return decode(fields)
    }
}

extension UploadRequestPlan {
    /// The method of the request, and the fields that its format gives it. `creation` is the method of creation requests.
    func encoded(of length: Int64, creation: HTTPRequest.Method) -> (method: HTTPRequest.Method, fields: HTTPFields) {
        var fields: HTTPFields = [:]
        dialect?.name(in: &fields)
        let method: HTTPRequest.Method
        var message = UploadFields()
        switch self {
        case .create: (method, message) = (creation, UploadFields(isComplete: true, length: length))
        case .reserve: (method, message) = (creation, UploadFields(isComplete: false, length: length))
        case .discoverLimits: method = .options
        case .retrieveOffset: method = .head
        case .append(let resource, let from, _, let isLast):
            (method, message) = (.patch, UploadFields(isComplete: isLast, offset: from))
            fields[.contentType] = resource.dialect.rules.appendMediaType
        case .cancel: method = .delete
        }
        dialect?.encode(message, into: &fields)
        return (method, fields)
    }
}
