import Units

extension ObjectShape {
    static let hexadecimalPattern = ObjectShape(
        title: "“pattern” in digits",
        keys: [.required("hex", .text, "bytes as pairs of digits, with or without spaces")],
        definition: "hexadecimalPattern"
    )
}

extension BytePattern {
    var written: JSONText {
        isText ? .text(String(decoding: bytes, as: UTF8.self)) : .object([("hex", .text(hexadecimal))])
    }
}

extension ProfileDecoder {
    /// A text, or `{ "hex": "1603 01" }`.
    mutating func pattern(_ object: CheckedObject, _ key: String) -> BytePattern? {
        guard let node = object[key] else { return nil }
        let remedy = "write a text, or bytes as “{ \"hex\": \"16 03 01\" }”"
        let bytes: [UInt8]?
        switch node.value {
        case .text(let text):
            bytes = Array(text.utf8)
        case .object:
            guard let digits = self.object(node, .hexadecimalPattern).flatMap({ text($0, "hex") }) else { return nil }
            bytes = ProfileDecoder.bytes(hexadecimal: digits)
            if bytes == nil {
                report("\(digits.quoted) are no bytes in digits", remedy: remedy, at: node.place)
                return nil
            }
        case .array, .boolean, .null, .number, .unreadable:
            reportType(of: node, expected: "a text or bytes in digits", key: key, remedy: remedy)
            return nil
        }
        guard let bytes, (1...ProfileLimits.patternBytes).contains(bytes.count) else {
            report(
                "a pattern has 1 to \(ProfileLimits.patternBytes) bytes, not \(bytes?.count ?? 0)",
                remedy: remedy,
                at: node.place
            )
            return nil
        }
        return BytePattern(bytes)
    }

    /// The bytes of pairs of digits with spaces between them, or without; `nil` where they aren't.
    private static func bytes(hexadecimal text: String) -> [UInt8]? {
        // Digits of other scripts have a value as well.
        let digits = text.unicodeScalars.filter { $0 != " " }.map { $0.isASCII ? Character($0).hexDigitValue : nil }
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }
}
