/// The bytes of HTTP heads.
enum Byte {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let comma = UInt8(ascii: ",")
    static let colon = UInt8(ascii: ":")
    static let dash = UInt8(ascii: "-")
    static let slash = UInt8(ascii: "/")

    static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool { isDigit(byte) || lowercased(byte) &- 0x61 < 26 }

    static func isVisible(_ byte: UInt8) -> Bool { byte &- 0x21 < 0x5E }

    /// Whether it is white space, including line ends in a folded field (RFC 9112, section 5.2).
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == space || byte == tab || byte == carriageReturn || byte == lineFeed
    }

    static func isLineEnd(_ byte: UInt8) -> Bool { byte == carriageReturn || byte == lineFeed }

    static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}

extension Span where Element == UInt8 {
    func equals(_ text: String) -> Bool {
        guard count == text.utf8.count else { return false }
        var index = 0
        for byte in text.utf8 {
            if self[index] != byte { return false }
            index += 1
        }
        return true
    }

    /// Whether the bytes equal the lower-case `text`, ignoring case.
    func equalsIgnoringCase(_ text: String) -> Bool {
        guard count == text.utf8.count else { return false }
        var index = 0
        for byte in text.utf8 {
            if Byte.lowercased(self[index]) != byte { return false }
            index += 1
        }
        return true
    }

    /// `range` without the white space at its start and end.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, Byte.isSpace(self[start]) { start += 1 }
        while end > start, Byte.isSpace(self[end - 1]) { end -= 1 }
        return start..<end
    }

    /// The decimal number in the bytes; `nil` if they aren't digits or too many.
    func number(_ range: Range<Int>) -> Int64? {
        var value: Int64 = 0
        for index in range {
            guard Byte.isDigit(self[index]) else { return nil }
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = product.addingReportingOverflow(Int64(self[index] - 0x30))
            if isTooLarge || overflows { return nil }
            value = sum
        }
        return range.isEmpty ? nil : value
    }

    func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        for index in range where self[index] == byte { return index }
        return nil
    }

    /// Removes the next element of a list from `rest`, trimmed (RFC 9110, section 5.6.1); `nil` after the last.
    func nextElement(of rest: inout Range<Int>?) -> Range<Int>? {
        guard let range = rest else { return nil }
        let comma = firstIndex(of: Byte.comma, in: range)
        rest = comma.map { $0 + 1..<range.upperBound }
        return trimmed(range.lowerBound..<(comma ?? range.upperBound))
    }

    /// The text of `range`; invalid UTF-8 is replaced, and the folds of a field become a space.
    func text(_ range: Range<Int>) -> String {
        let bytes = extracting(range)
        if let text = try? UTF8Span(validating: bytes), bytes.firstIndex(of: Byte.lineFeed, in: 0..<bytes.count) == nil
        {
            return String(copying: text)
        }
        var unfolded: [UInt8] = []
        for index in range {
            let byte = self[index]
            let follows = unfolded.last == Byte.space
            if byte != Byte.carriageReturn, !(follows && Byte.isSpace(byte)) {
                unfolded.append(Byte.isSpace(byte) ? Byte.space : byte)
            }
        }
        return String(decoding: unfolded, as: UTF8.self)
    }
}
