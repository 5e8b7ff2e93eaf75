/// One range of a `Range` field, as it was asked for (RFC 9110, section 14.1.2).
public enum ByteRangeSpecifier: Hashable, Sendable {
    /// From the byte at `first` to the byte at `last`, both included; to the end when `last` is `nil`.
    case from(first: Int64, last: Int64?)
    /// The last `length` bytes.
    case suffix(length: Int64)
}

/// What is asked for by a `Range` field in bytes (RFC 9110, section 14.2).
public struct ByteRangeRequest: Hashable, Sendable {
    /// The ranges in the order in which they were asked for; never empty.
    public let specifiers: [ByteRangeSpecifier]

    /// Reads a field value such as `bytes=0-99`, `bytes=100-` or `bytes=-500`, or a list of such.
    ///
    /// Numbers beyond `Int64` saturate: they lie behind the end of every file. `nil` for another unit and for
    /// anything that the grammar doesn't allow, a `last` below its `first` included; the field must then be ignored.
    public init?(_ headerValue: String) {
        var scanner = FieldScanner(headerValue)
        guard scanner.skipIgnoringCase("bytes=") else { return nil }
        var specifiers: [ByteRangeSpecifier] = []
        scanner.skipWhitespace()
        while !scanner.isAtEnd {
            if !scanner.skip(",") {
                guard let specifier = ByteRangeSpecifier(&scanner) else { return nil }
                specifiers.append(specifier)
                scanner.skipWhitespace()
                guard scanner.isAtEnd || scanner.skip(",") else { return nil }
            }
            scanner.skipWhitespace()
        }
        guard !specifiers.isEmpty else { return nil }
        self.specifiers = specifiers
    }

    /// Decides what of a representation of `length` bytes, at least 0, is to be sent.
    ///
    /// Two rules beyond the grammar:
    /// - A request for several ranges is answered with the whole: a server may ignore `Range` (RFC 9110, section
    ///   14.2), and nothing that resumes a transfer asks for more than one.
    /// - A suffix of an empty representation can be satisfied, but no `Content-Range` can say so; it is ignored.
    public func selection(ofLength length: Int64) -> ByteRangeSelection {
        guard specifiers.count == 1, let specifier = specifiers.first else { return .whole }
        switch specifier {
        case .from(let first, let last):
            guard first < length else { return .unsatisfiable }
            return .part(first: first, last: min(last ?? .max, length - 1))
        case .suffix(let suffix):
            guard suffix > 0 else { return .unsatisfiable }
            guard length > 0 else { return .whole }
            return .part(first: max(0, length - suffix), last: length - 1)
        }
    }
}

/// What of a representation is to be sent.
public enum ByteRangeSelection: Hashable, Sendable {
    /// All of it, with 200.
    case whole
    /// The bytes from `first` to `last`, both included and within the representation, with 206.
    case part(first: Int64, last: Int64)
    /// Nothing: 416, with the length in `Content-Range`.
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
