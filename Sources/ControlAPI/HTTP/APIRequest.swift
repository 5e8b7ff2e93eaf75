import HTTPSemantics
import HTTPTypes

/// A request to the control server, with its whole body.
package struct APIRequest: Sendable {
    package var method: HTTPRequest.Method
    /// The path as sent, percent-encoded, without the query.
    package var path: String
    /// The query as sent, without the question mark; empty if there is none.
    package var query: String
    package var fields: HTTPFields
    /// `Host`, or `:authority`.
    package var authority: String?
    package var body: [UInt8]
    /// The client, for a response that waits.
    package var client = ClientPresence()

    package init(
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

    /// The segments of the path, each decoded: an encoded `/` is part of a segment. `nil` if one can't be decoded.
    var segments: [String]? {
        guard path.hasPrefix("/") else { return nil }
        var segments: [String] = []
        for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let segment = PercentCoding.decoded(part) else { return nil }
            segments.append(segment)
        }
        return segments
    }

    /// The parameters of the query in their order; a value is `nil` if it can't be decoded.
    var parameters: [(name: String, value: String?)] {
        query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count == 1 ? "" : PercentCoding.decoded(parts[1].replacing("+", with: " "))
            return (PercentCoding.decoded(parts[0]) ?? String(parts[0]), value)
        }
    }

    func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
}
