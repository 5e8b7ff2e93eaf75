/// One range of a `Range` field as requested (RFC 9110, section 14.1.2).
public enum ByteRangeSpecifier: Hashable, Sendable {
    /// From the byte at `first` to the byte at `last`, both included; to the end when `last` is `nil`.
    case from(first: Int64, last: Int64?)
    /// The last `length` bytes.
    case suffix(length: Int64)
}

/// The ranges of a `Range` field in bytes (RFC 9110, section 14.2).
public struct ByteRangeRequest: Hashable, Sendable {
    /// The ranges in the requested order; never empty.
    public let specifiers: [ByteRangeSpecifier]

    /// Parses a field value such as `bytes=0-99`, `bytes=100-`, `bytes=-500`, or a list of ranges.
    ///
    /// Numbers beyond `Int64` saturate: they lie past the end of every file. Returns `nil` for another unit and for
    /// anything outside the grammar, including a `last` below its `first`; the field must then be ignored.
    public init?(_ headerValue: String) {
        var scanner = FieldScanner(headerValue)
        guard scanner.skipIgnoringCase("bytes=") else { return nil }
        guard let specifiers = scanner.list(of: { ByteRangeSpecifier(&$0) }) else { return nil }
        self.specifiers = specifiers
    }

    /// Selects the part of a representation of `length` bytes to send.
    ///
    /// Two rules beyond the grammar:
    /// - A request for several ranges gets the complete representation: a server may ignore `Range` (RFC 9110, section
    ///   14.2), and no client that resumes needs more than one.
    /// - A suffix of an empty representation is satisfiable, but no `Content-Range` can express it; it is ignored.
    public func selection(ofLength length: Int64) -> ByteRangeSelection {
        guard specifiers.count == 1, let specifier = specifiers.first else { return .complete }
        switch specifier {
        case .from(let first, let last):
            guard first < length else { return .unsatisfiable }
            return .part(first: first, last: min(last ?? .max, length - 1))
        case .suffix(let suffix):
            guard suffix > 0 else { return .unsatisfiable }
            guard length > 0 else { return .complete }
            return .part(first: max(0, length - suffix), last: length - 1)
        }
    }
}

/// The part of a representation to send.
public enum ByteRangeSelection: Hashable, Sendable {
    /// The complete representation, with 200.
    case complete
    /// The bytes from `first` to `last`, inclusive and within the representation, with 206.
    case part(first: Int64, last: Int64)
    /// No content: 416, with the length in `Content-Range`.
    case unsatisfiable
}

extension ByteRangeSpecifier {
    fileprivate init?(_ scanner: inout FieldScanner) {
        if scanner.skip("-") {
            guard let length = scanner.saturatingNumber() else { return nil }
            self = .suffix(length: length)
            return
        }
        guard let first = scanner.saturatingNumber(), scanner.skip("-") else { return nil }
        let last = scanner.saturatingNumber()
        if let last, last < first { return nil }
        self = .from(first: first, last: last)
    }
}
