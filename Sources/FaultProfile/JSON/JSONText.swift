/// A JSON value to be written.
package enum JSONText: Sendable {
    case object([(key: String, value: JSONText)])
    case array([JSONText])
    case text(String)
    /// A whole number, in digits.
    case number(UInt64)
    /// A whole number that may be negative, in digits.
    case signed(Int64)
    case flag(Bool)
    case null
    /// A number, or any other JSON value, as it is to be written.
    case literal(String)

    /// The value on one line, without a space that isn't part of a text.
    package var compact: String {
        var result = ""
        write(to: &result, depth: nil)
        return result
    }

    /// The value with a line for each element of lists of objects, as a person would write a profile.
    package var readable: String {
        var result = ""
        write(to: &result, depth: 0)
        return result
    }

    private func write(to result: inout String, depth: Int?) {
        switch self {
        case .object(let members):
            let isSpread = depth == 0 || depth == 2 && members.contains { $0.value.isListOfObjects }
            let parts = members.map { member -> String in
                var part = JSONText.quoted(member.key) + (depth == nil ? ":" : ": ")
                member.value.write(to: &part, depth: depth.map { $0 + 1 })
                return part
            }
            result += JSONText.joined(parts, "{", "}", depth: depth, isSpread: isSpread)
        case .array(let values):
            let parts = values.map { value -> String in
                var part = ""
                value.write(to: &part, depth: depth.map { $0 + 1 })
                return part
            }
            result += JSONText.joined(parts, "[", "]", depth: depth, isSpread: isListOfObjects)
        case .text(let text): result += JSONText.quoted(text)
        case .number(let number): result += String(number)
        case .signed(let number): result += String(number)
        case .flag(let flag): result += flag ? "true" : "false"
        case .null: result += "null"
        case .literal(let text): result += text
        }
    }

    private var isListOfObjects: Bool {
        guard case .array(let values) = self, case .object? = values.first else { return false }
        return true
    }

    private static func joined(_ parts: [String], _ open: String, _ close: String, depth: Int?, isSpread: Bool)
        -> String
    {
        guard let depth else { return open + parts.joined(separator: ",") + close }
        guard !parts.isEmpty else { return open + close }
        guard isSpread else {
            let space = open == "{" ? " " : ""
            return open + space + parts.joined(separator: ", ") + space + close
        }
        let indent = String(repeating: "  ", count: depth)
        return "\(open)\n\(indent)  " + parts.joined(separator: ",\n\(indent)  ") + "\n\(indent)\(close)"
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\u{8}": result += "\\b"
            case "\u{C}": result += "\\f"
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
