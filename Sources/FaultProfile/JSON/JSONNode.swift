/// A value of a JSON document, and where it begins.
package struct JSONNode: Sendable {
    package let value: JSONValue
    package let place: SourcePlace

    /// The line where it begins, from 1.
    package var line: Int { place.place.line }
    /// The column where it begins, from 1.
    package var column: Int { place.place.column }

    /// The members of an object; none of anything else.
    package var members: [JSONMember] { if case .object(let members) = value { members } else { [] } }
}

/// A JSON value. Numbers stay texts until they are used.
package enum JSONValue: Sendable {
    case object([JSONMember])
    case array([JSONNode])
    case text(String)
    case number(String)
    case boolean(Bool)
    case null
    /// Invalid JSON, already reported.
    case unreadable

    /// The type with its article, for messages.
    package var form: String {
        switch self {
        case .object: "an object"
        case .array: "a list"
        case .text: "a text"
        case .number: "a number"
        case .boolean: "true or false"
        case .null: "null"
        case .unreadable: "unreadable"
        }
    }
}

/// A member of an object. Keys are unique in their object.
package struct JSONMember: Sendable {
    package let key: String
    /// Where the key begins.
    let place: SourcePlace
    package let node: JSONNode

    /// The line where the key begins, from 1.
    package var line: Int { place.place.line }
    /// The column where the key begins, from 1.
    package var column: Int { place.place.column }
}
