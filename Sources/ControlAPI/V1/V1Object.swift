import FaultProfile

/// Reads a JSON object of a request. Keys other than the known ones are refused; `null` counts as absent.
struct V1Object {
    private let node: JSONNode

    /// The object at `node`, with keys out of `keys`.
    init(_ node: JSONNode, keys: [String]) throws(ControlError) {
        guard case .object(let members) = node.value else {
            throw .invalid("\(node.value.form) stands where an object is due")
        }
        if let member = members.first(where: { !keys.contains($0.key) }) {
            throw .invalid("the key \(member.key.quoted) is unknown; the keys are \(keys.joined(separator: ", "))")
        }
        self.node = node
    }

    /// The value of a key; `nil` if it is absent or null.
    subscript(key: String) -> JSONNode? { node[key] }

    func text(_ key: String) throws(ControlError) -> String? {
        try value(key, "a text") { if case .text(let text) = $0 { text } else { nil } }
    }

    func flag(_ key: String) throws(ControlError) -> Bool? {
        try value(key, "true or false") { if case .boolean(let flag) = $0 { flag } else { nil } }
    }

    func number(_ key: String) throws(ControlError) -> UInt64? {
        try value(key, "a whole number from 0 to \(UInt64.max)") {
            if case .number(let digits) = $0 { UInt64(digits) } else { nil }
        }
    }

    func list(_ key: String, limit: Int) throws(ControlError) -> [JSONNode] {
        let nodes: [JSONNode] = try value(key, "a list") { if case .array(let nodes) = $0 { nodes } else { nil } } ?? []
        guard nodes.count <= limit else { throw .limit("\(key) has more than \(limit) elements") }
        return nodes
    }

    private func value<Value>(
        _ key: String,
        _ wanted: String,
        _ read: (JSONValue) -> Value?
    ) throws(ControlError) -> Value? {
        guard let node = self[key] else { return nil }
        guard let value = read(node.value) else { throw .invalid("\(key.quoted) must be \(wanted), not \(node.shown)") }
        return value
    }
}

extension V1API {
    static func document(_ bytes: [UInt8], _ name: String, limit: Int) throws(ControlError) -> JSONNode {
        do throws(ProfileProblems) {
            return try ProfileReader.document(ProfileSource(file: name, bytes: bytes), limit: limit)
        } catch {
            throw .malformed(error)
        }
    }
}

extension RoutedRequest {
    static let bodyName = "body"

    func document() throws(ControlError) -> JSONNode {
        guard request.body.contains(where: { !$0.isJSONSpace }) else {
            throw .invalid("the request has no body: send a JSON value")
        }
        return try V1API.document(request.body, RoutedRequest.bodyName, limit: ControlHandler.bodyLimit)
    }

    func object(_ keys: String...) throws(ControlError) -> V1Object { try V1Object(try document(), keys: keys) }
}
