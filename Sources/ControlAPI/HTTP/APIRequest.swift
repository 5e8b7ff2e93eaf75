import HTTPTypes

/// A request to the control server, with its whole body.
public struct APIRequest: Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The path as sent, percent-encoded, without the query.
    public var path: String
    /// The query as sent, without the question mark; empty if there is none.
    public var query: String
    /// The header fields.
    public var fields: HTTPFields
    /// `Host`, or `:authority`.
    public var authority: String?
    /// The whole content.
    public var body: [UInt8]
    /// The client, for a response that waits.
    public var client = ClientPresence()

    /// Makes a request of its parts.
    public init(
        method: HTTPRequest.Method,
        path: String,
        query: String = "",
        fields: HTTPFields = [:],
        authority: String? = nil,
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.authority = authority
        self.body = body
    }

    /// The segments of the path, decoded; `nil` if it can't be decoded. A `/` that was encoded separates segments, too.
    var segments: [String]? {
        guard let path = APIRequest.decoded(path), path.hasPrefix("/") else { return nil }
        return path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    /// The decoded value of a parameter of the query.
    func parameter(_ name: String) -> String? {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts[0] == name else { continue }
            return parts.count == 1 ? "" : APIRequest.decoded(parts[1].replacing("+", with: " "))
        }
        return nil
    }

    /// `text` without its percent-encoding; `nil` if it is malformed (RFC 3986, section 2.1).
    static func decoded(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            // A number with a sign isn't two digits.
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
