import FoundationEssentials

/// Whether texts are JSON (RFC 8259), whatever they say.
package enum JSONSyntax {
    /// Whether a text is a JSON value.
    package static func isValid(_ text: some Sequence<UInt8>) -> Bool {
        (try? JSONDecoder().decode(Value.self, from: Data(text))) != nil
    }

    /// A value, visited down to its scalars: the decoder checks a number only when it is decoded.
    private struct Value: Decodable {
        init(from decoder: any Decoder) throws {
            if let object = try? decoder.container(keyedBy: Key.self) {
                for key in object.allKeys { _ = try object.decode(Value.self, forKey: key) }
                return
            }
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
