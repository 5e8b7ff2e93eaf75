/// Reads a field value from left to right, byte by byte.
///
/// Fields are compared as bytes: Swift's strings hold two spellings of one letter for equal, HTTP doesn't.
package struct FieldScanner {
    private var rest: Substring.UTF8View

    /// Starts at the first byte of `text`.
    package init(_ text: String) {
        rest = Substring(text).utf8
    }

    /// Whether every byte has been taken.
    package var isAtEnd: Bool { rest.isEmpty }

    /// Takes `prefix` when the rest starts with it, byte for byte.
    package mutating func skip(_ prefix: String) -> Bool {
        guard rest.starts(with: prefix.utf8) else { return false }
        rest = rest.dropFirst(prefix.utf8.count)
        return true
    }

    /// Takes `prefix`, given in lower case, when the rest starts with it in any case of ASCII.
    package mutating func skipIgnoringCase(_ prefix: String) -> Bool {
        let lowered = rest.prefix(prefix.utf8.count).lazy.map { (65...90).contains($0) ? $0 + 32 : $0 }
        guard lowered.elementsEqual(prefix.utf8) else { return false }
        rest = rest.dropFirst(prefix.utf8.count)
        return true
    }

    /// Takes the first of `names` that the rest starts with, and gives its index.
    package mutating func skipFirst(of names: [String]) -> Int? {
        names.firstIndex { skip($0) }
    }

    /// Takes the spaces and tabs that come next, perhaps none.
    package mutating func skipWhitespace() {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }

    /// Takes exactly `digits` digits as a number.
    package mutating func number(digits: Int) -> Int64? {
        let prefix = rest.prefix(digits)
        guard prefix.count == digits, let value = Int64(asciiDigits: prefix) else { return nil }
        rest = rest.dropFirst(digits)
        return value
    }

    /// Takes the digits that come next, at least one, as a number that saturates at `Int64.max`.
    package mutating func saturatingNumber() -> Int64? {
        let prefix = rest.prefix { (48...57).contains($0) }
        guard !prefix.isEmpty else { return nil }
        rest = rest.dropFirst(prefix.count)
        return Int64(asciiDigits: prefix) ?? .max
    }

    /// Takes the bytes that come next for as long as `matches` holds, perhaps none.
    package mutating func take(while matches: (UInt8) -> Bool) -> String {
        let prefix = rest.prefix(while: matches)
        rest = rest.dropFirst(prefix.count)
        return String(decoding: prefix, as: UTF8.self)
    }
}

extension Int64 {
    /// The number that these digits are, or `nil` when one is no digit, there is none, or `Int64.max` is passed.
    fileprivate init?(asciiDigits digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard (48...57).contains(digit) else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowed) = product.addingReportingOverflow(Int64(digit - 48))
            guard !overflow, !overflowed else { return nil }
            value = sum
        }
        self = value
    }
}
