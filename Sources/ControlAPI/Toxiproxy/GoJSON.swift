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
        guard let node = node(name) else { return nil }
        guard case .text(let text) = node.value else { throw GoJSON.mismatch(node, name, "a string") }
        return text
    }

    func flag(_ name: String) throws(ControlError) -> Bool? {
        guard let node = node(name) else { return nil }
        guard case .boolean(let flag) = node.value else { throw GoJSON.mismatch(node, name, "a boolean") }
        return flag
    }

    /// A whole number: Go takes neither `10.0` nor `"10"`.
    func integer(_ name: String) throws(ControlError) -> Int64? {
        guard let node = node(name) else { return nil }
        guard case .number(let digits) = node.value, let number = Int64(digits) else {
            throw GoJSON.mismatch(node, name, "a whole number")
        }
        return number
    }

    func decimal(_ name: String) throws(ControlError) -> Float? {
        guard let node = node(name) else { return nil }
        guard case .number(let digits) = node.value, let number = Float(digits), number.isFinite else {
            throw GoJSON.mismatch(node, name, "a number")
        }
        return number
    }

    private static func mismatch(_ node: JSONNode, _ name: String, _ wanted: String) -> ControlError {
        failure("\(name) must be \(wanted), not \(node.shown)")
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
