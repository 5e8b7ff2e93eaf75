/// A `Content-Range` field (RFC 9110, section 14.4): the part of a representation in a message, or its length in a 416.
public enum ContentRange: Hashable, Sendable {
    /// The bytes from `first` to `last`, inclusive, of `total`; `nil` when the sender doesn't know the total.
    case bytes(first: Int64, last: Int64, total: Int64?)
    /// No content: the response is a 416, and the representation has `total` bytes.
    case unsatisfied(total: Int64)

    /// Parses a field value: `bytes 0-99/1000`, `bytes 0-99/*` or `bytes */1000`.
    ///
    /// Returns `nil` for another unit, a `last` below `first`, a total not above `last`, and numbers beyond `Int64`;
    /// the message then has no valid range.
    public init?(_ headerValue: String) {
        var scanner = FieldScanner(headerValue)
        guard scanner.skipIgnoringCase("bytes ") else { return nil }
        if scanner.skip("*/") {
            guard let total = scanner.position(), scanner.isAtEnd else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        guard let first = scanner.position(), scanner.skip("-"), let last = scanner.position(), scanner.skip("/"),
            first <= last
        else { return nil }
        if scanner.skip("*") {
            guard scanner.isAtEnd else { return nil }
            self = .bytes(first: first, last: last, total: nil)
        } else {
            guard let total = scanner.position(), scanner.isAtEnd, last < total else { return nil }
            self = .bytes(first: first, last: last, total: total)
        }
    }

    /// The range as a field value.
    public var headerValue: String {
        switch self {
        case .bytes(let first, let last, let total):
            "bytes \(first)-\(last)/\(total.map { String($0) } ?? "*")"
        case .unsatisfied(let total):
            "bytes */\(total)"
        }
    }
}

extension FieldScanner {
    /// A byte count below `Int64.max`, which is the saturated value.
    fileprivate mutating func position() -> Int64? {
        guard let number = saturatingNumber(), number < .max else { return nil }
        return number
    }
}
