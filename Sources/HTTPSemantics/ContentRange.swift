/// The part of a representation that a message carries, or how long the representation is when it carries none
/// (`Content-Range`, RFC 9110, section 14.4).
public enum ContentRange: Hashable, Sendable {
    /// The bytes from `first` to `last`, both included, of `total`; `nil` when the sender doesn't know the total.
    case bytes(first: Int64, last: Int64, total: Int64?)
    /// None: the answer is 416, and the representation has `total` bytes.
    case unsatisfied(total: Int64)

    /// Reads a field value: `bytes 0-99/1000`, `bytes 0-99/*` or `bytes */1000`.
    ///
    /// `nil` for another unit, for `last` below `first`, for a total that doesn't reach beyond `last`, and for numbers
    /// beyond `Int64`; the message must then be treated as if it carried no valid range at all.
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

    /// The range as a field value, in the form that `init(_:)` reads.
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
    /// A number of bytes below `Int64.max`, which stands for all that were cut off at it.
    fileprivate mutating func position() -> Int64? {
        guard let number = saturatingNumber(), number < .max else { return nil }
        return number
    }
}
