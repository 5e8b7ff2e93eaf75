/// Scans a field value from left to right, byte by byte.
///
/// Fields are compared as bytes: Swift strings treat canonically equivalent spellings as equal, HTTP doesn't.
package struct FieldScanner {
    private var rest: Substring.UTF8View

    /// Starts at the first byte of `text`.
    package init(_ text: String) {
        rest = Substring(text).utf8
    }

    /// Whether all bytes are consumed.
    package var isAtEnd: Bool { rest.isEmpty }

    /// Consumes `prefix` if the rest starts with it, byte for byte.
    package mutating func skip(_ prefix: String) -> Bool {
        guard rest.starts(with: prefix.utf8) else { return false }
        rest = rest.dropFirst(prefix.utf8.count)
        return true
    }

    /// Consumes `prefix`, given in lower case, if the rest starts with it in any ASCII case.
    package mutating func skipIgnoringCase(_ prefix: String) -> Bool {
        let lowered = rest.prefix(prefix.utf8.count).lazy.map { (65...90).contains($0) ? $0 + 32 : $0 }
        guard lowered.elementsEqual(prefix.utf8) else { return false }
        rest = rest.dropFirst(prefix.utf8.count)
        return true
    }

    /// Consumes the first of `names` that the rest starts with and returns its index.
    package mutating func skipFirst(of names: [String]) -> Int? {
        names.firstIndex { skip($0) }
    }

    /// Consumes spaces and tabs, if any.
    package mutating func skipWhitespace() {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }

    /// Consumes exactly `digits` digits as a number.
    package mutating func number(digits: Int) -> Int64? {
        let prefix = rest.prefix(digits)
        guard prefix.count == digits, let value = Int64(asciiDigits: prefix) else { return nil }
        rest = rest.dropFirst(digits)
        return value
    }

    /// Consumes at least one digit as a number that saturates at `Int64.max`.
    package mutating func saturatingNumber() -> Int64? {
        let prefix = rest.prefix(while: \.isDigit)
        guard !prefix.isEmpty else { return nil }
        rest = rest.dropFirst(prefix.count)
        return Int64(asciiDigits: prefix) ?? .max
    }

    /// Consumes a list to the end and returns its elements, at least one. Skips empty ones (RFC 9110, section 5.6.1.2).
    mutating func list<Element>(of element: (inout FieldScanner) -> Element?) -> [Element]? {
        var elements: [Element] = []
        skipWhitespace()
        while !isAtEnd {
            if !skip(",") {
                guard let next = element(&self) else { return nil }
                elements.append(next)
                skipWhitespace()
                guard isAtEnd || skip(",") else { return nil }
            }
            skipWhitespace()
        }
        return elements.isEmpty ? nil : elements
    }

    /// Consumes bytes while `matches` holds, possibly none.
    package mutating func take(while matches: (UInt8) -> Bool) -> String {
        let prefix = rest.prefix(while: matches)
        rest = rest.dropFirst(prefix.count)
        return String(decoding: prefix, as: UTF8.self)
    }
}

extension Int64 {
    /// Parses ASCII digits. `nil` for a non-digit, an empty collection, or a value above `Int64.max`.
    fileprivate init?(asciiDigits digits: some Collection<UInt8>) {
        guard digits.allSatisfy(\.isDigit) else { return nil }
        self.init(String(decoding: digits, as: UTF8.self))
    }
}
