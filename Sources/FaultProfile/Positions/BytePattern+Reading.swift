import Units

extension ObjectShape {
    static let hexadecimal = hexadecimal(of: "pattern")

    /// Bytes in digits, as the value of a key.
    fileprivate static func hexadecimal(of key: String) -> ObjectShape {
        ObjectShape(
            title: "“\(key)” in digits",
            keys: [.required("hex", .digits, "bytes as pairs of digits, with or without spaces")],
            definition: "hexadecimal"
        )
    }
}

extension BytePattern {
    var written: JSONText {
        isText ? .text(String(decoding: bytes, as: UTF8.self)) : .object([("hex", .text(hexadecimal))])
    }
}

extension Form<[UInt8]> {
    /// Bytes: 1 to `limit` of them, which `title` has.
    static func bytes(_ shape: ValueForm, limit: Int, of title: String) -> Form {
        Form(
            shape,
            read: { $2.bytes($0, key: $1, limit: limit, of: title) },
            write: { BytePattern($0).written }
        )
    }
}

extension ProfileDecoder {
    /// A text, or `{ "hex": "1603 01" }`, of 1 to `limit` bytes.
    fileprivate mutating func bytes(_ node: JSONNode, key: String, limit: Int, of title: String) -> [UInt8]? {
        let remedy = "write a text, or bytes as “{ \"hex\": \"16 03 01\" }”"
        let bytes: [UInt8]
        switch node.value {
        case .text(let text):
            bytes = Array(text.utf8)
        case .object:
            let shape = ObjectShape.hexadecimal(of: key)
            guard let object = object(node, shape), let hex = object["hex"],
                let digits = text(hex, key: "hex", limit: ProfileLimits.hexadecimalLength)
            else { return nil }
            guard let read = ProfileDecoder.bytes(hexadecimal: digits) else {
                report("\(digits.quoted) are no bytes in digits", remedy: remedy, at: node.place)
                return nil
            }
            bytes = read
        case .array, .boolean, .null, .number, .unreadable:
            reportType(of: node, expected: "a text or bytes in digits", key: key, remedy: remedy)
            return nil
        }
        if (1...limit).contains(bytes.count) { return bytes }
        report("\(title) has 1 to \(limit) bytes, not \(bytes.count)", remedy: remedy, at: node.place)
        return nil
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
