import FaultProfile
import Units

/// Reads JSON objects by the rules of Go's encoding/json, which Toxiproxy's clients rely on: names match in any case,
/// unknown ones are ignored, and `null` leaves a value as it is.
struct GoJSON {
    /// The last value of each name, in lower case.
    private let values: [String: JSONNode]

    /// The object at `node`; `null` counts as an empty one.
    init(_ node: JSONNode) throws(ControlError) {
        switch node.value {
        case .object(let members): values = Dictionary(members.map { ($0.key.lowercased(), $0.node) }) { $1 }
        case .null: values = [:]
        default: throw GoJSON.failure("\(node.value.form) stands where an object is due")
        }
    }

    /// The first value of `body`, whatever follows it.
    static func value(of body: [UInt8]) throws(ControlError) -> JSONNode {
        guard body.contains(where: { !$0.isJSONSpace }) else { throw failure("EOF") }
        do throws(Problem) {
            return try JSONReader.firstValue(of: body, name: "body")
        } catch {
            throw failure("line \(error.line), column \(error.column): \(error.what)")
        }
    }

    init(_ body: [UInt8]) throws(ControlError) { try self.init(try GoJSON.value(of: body)) }

    /// The names of all members, sorted.
    var names: [String] { values.keys.sorted() }

    /// The value of `name`; `nil` if it is absent or null.
    func node(_ name: String) -> JSONNode? {
        guard let node = values[name] else { return nil }
        if case .null = node.value { return nil }
        return node
    }

    func text(_ name: String) throws(ControlError) -> String? {
        try value(name, "a string") { if case .text(let text) = $0 { text } else { nil } }
    }

    func flag(_ name: String) throws(ControlError) -> Bool? {
        try value(name, "a boolean") { if case .boolean(let flag) = $0 { flag } else { nil } }
    }

    /// A whole number: Go takes neither `10.0` nor `"10"`.
    func integer(_ name: String) throws(ControlError) -> Int64? {
        try value(name, "a whole number") { if case .number(let digits) = $0 { Int64(digits) } else { nil } }
    }

    func decimal(_ name: String) throws(ControlError) -> Float? {
        try value(name, "a number") {
            if case .number(let digits) = $0, let number = Float(digits), number.isFinite { number } else { nil }
        }
    }

    private func value<Value>(
        _ name: String,
        _ wanted: String,
        _ read: (JSONValue) -> Value?
    ) throws(ControlError) -> Value? {
        guard let node = node(name) else { return nil }
        guard let value = read(node.value) else { throw GoJSON.failure("\(name) must be \(wanted), not \(node.shown)") }
        return value
    }

    /// What can't be read is the client's fault.
    static func failure(_ text: String) -> ControlError { .invalid("bad request body: \(text)") }
}

extension JSONNode {
    /// A number itself, and the type of another value, for messages.
    var shown: String {
        if case .number(let digits) = value { digits.shortened(to: 40) } else { value.form }
    }
}

extension UInt8 {
    /// Whether the byte is white space between JSON values.
    var isJSONSpace: Bool { self == 32 || self == 9 || self == 10 || self == 13 }
}
