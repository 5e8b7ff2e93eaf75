import FoundationEssentials

/// Whether texts are JSON (RFC 8259), whatever they say.
package enum JSONSyntax {
    /// Whether a text is a JSON value.
    package static func isValid(_ text: some Sequence<UInt8>) -> Bool { value(text) != nil }

    /// Whether a text is a JSON object.
    static func isObject(_ text: some Sequence<UInt8>) -> Bool { value(text)?.isObject == true }

    private static func value(_ text: some Sequence<UInt8>) -> Value? {
        try? JSONDecoder().decode(Value.self, from: Data(text))
    }

    /// A value, visited down to its scalars: the decoder checks a number only when it is decoded.
    private struct Value: Decodable {
        let isObject: Bool

        init(from decoder: any Decoder) throws {
            if let object = try? decoder.container(keyedBy: Key.self) {
                for key in object.allKeys { _ = try object.decode(Value.self, forKey: key) }
                isObject = true
                return
            }
            isObject = false
            if var array = try? decoder.unkeyedContainer() {
                while !array.isAtEnd { _ = try array.decode(Value.self) }
                return
            }
            let scalar = try decoder.singleValueContainer()
            if scalar.decodeNil() || (try? scalar.decode(Bool.self)) != nil { return }
            if (try? scalar.decode(String.self)) == nil { _ = try scalar.decode(Double.self) }
        }
    }

    /// Any key of an object.
    private struct Key: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
