import Units

extension ProfileDecoder {
    /// The value of a key in a form; `nil` where the object doesn't have the key, or has a value that can't be read.
    @_semantics("optimize.sil.specialize.generic.never")
    package mutating func read<Value>(_ form: Form<Value>, _ object: CheckedObject, _ key: String) -> Value? {
        object[key].flatMap { form.read($0, key, &self) }
    }

    /// A text of up to `ProfileLimits.textLength` characters.
    mutating func text(_ object: CheckedObject, _ key: String) -> String? { read(.text(), object, key) }

    /// A name: 1 to `limit` characters, none of them a control character.
    mutating func name(
        _ object: CheckedObject,
        _ key: String = "name",
        limit: Int = ProfileLimits.nameLength
    ) -> String? {
        object[key].flatMap { name($0, key: key, limit: limit) }
    }

    mutating func name(_ node: JSONNode, key: String, limit: Int) -> String? {
        guard let name = text(node, key: key, limit: limit) else { return nil }
        return isName(name, key: key, limit: limit, at: node.place) ? name : nil
    }

    /// Whether a text of up to `limit` characters is a name; what is wrong with it is reported.
    mutating func isName(_ name: String, key: String, limit: Int, at place: SourcePlace) -> Bool {
        if name.isEmpty {
            report("\(key.quoted) is empty", remedy: "write a name of 1 to \(limit) characters", at: place)
            return false
        }
        if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            report("the name \(name.quoted) has a control character", remedy: "delete it", at: place)
            return false
        }
        return true
    }

    package mutating func text(_ node: JSONNode, key: String, limit: Int) -> String? {
        guard case .text(let text) = node.value else {
            reportType(of: node, expected: "a text", key: key, remedy: "write it in double quotes")
            return nil
        }
        let count = text.unicodeScalars.count
        if count <= limit { return text }
        report("\(key.quoted) has \(count) characters, more than \(limit)", remedy: "shorten it", at: node.place)
        return nil
    }

    package mutating func wholeNumber(_ node: JSONNode, key: String, in range: ClosedRange<UInt64>) -> UInt64? {
        let remedy = "write a whole number from \(range.lowerBound) to \(range.upperBound), without quotes"
        guard case .number(let digits) = node.value else {
            reportType(of: node, expected: "a whole number", key: key, remedy: remedy)
            return nil
        }
        if let number = UInt64(wholeNumber: digits), range.contains(number) { return number }
        report("\(key.quoted) can't be \(digits.shortened(to: 40))", remedy: remedy, at: node.place)
        return nil
    }

    /// Reports when not exactly one of `keys` is given.
    mutating func checkOneOf(_ keys: [String], of object: CheckedObject, title: String, example: String) {
        let given = keys.filter { object[$0] != nil }
        let list = keys.map(\.quoted).joined(separator: ", ")
        if given.isEmpty {
            report("\(title) needs one of the keys \(list)", remedy: "add “\(example)”", at: object.place)
        } else if given.count > 1 {
            report(
                "\(title) has exactly one of the keys \(list)",
                remedy: "delete “\(given[1])”, and make a fault of its own of it",
                at: object.place(of: given[1])
            )
        }
    }

    /// A value with a unit. A bare number is reported with the units that it may have meant.
    @_semantics("optimize.sil.specialize.generic.never")
    mutating func measure<Value>(
        _ node: JSONNode,
        key: String,
        example: String,
        remedy: String? = nil,
        _ parse: (String) throws(UnitError) -> Value
    ) -> Value? {
        let text: String
        switch node.value {
        case .text(let given), .number(let given): text = given
        case .object, .array, .boolean, .null, .unreadable:
            let remedy = remedy ?? "write one such as “\"\(example)\"”"
            reportType(of: node, expected: "a text with a unit", key: key, remedy: remedy)
            return nil
        }
        return parsed(text, at: node.place, parse)
    }

    /// What `parse` makes of a text; `nil` where it throws, which is reported.
    @_semantics("optimize.sil.specialize.generic.never")
    package mutating func parsed<Value>(
        _ text: String,
        at place: SourcePlace,
        _ parse: (String) throws(UnitError) -> Value
    ) -> Value? {
        do {
            return try parse(text)
        } catch {
            report(error, at: place)
            return nil
        }
    }
}

extension UInt64 {
    /// The value of a JSON number, if it is whole and in range, however it is written: 3, 3.0, 3e2.
    init?(wholeNumber text: String) {
        let isNegative = text.hasPrefix("-")
        let parts = (isNegative ? text.dropFirst() : text[...]).split(maxSplits: 1) { $0 == "e" || $0 == "E" }
        guard let mantissa = parts.first else { return nil }
        let halves = mantissa.split(separator: ".", maxSplits: 1)
        guard let whole = halves.first else { return nil }
        var digits = Array(whole + (halves.count == 2 ? halves[1] : ""))
        guard digits.contains(where: { $0 != "0" }) else {
            self = 0
            return
        }
        guard !isNegative, let exponent = parts.count == 2 ? Int(parts[1]) : 0, exponent.magnitude <= 1 << 20 else {
            return nil
        }
        let pointIndex = whole.count + exponent
        while digits.count > pointIndex, digits.last == "0" { digits.removeLast() }
        let leadingZeros = digits.prefix { $0 == "0" }.count
        guard digits.count <= pointIndex, pointIndex - leadingZeros <= 20 else { return nil }
        digits += Array(repeating: "0", count: pointIndex - digits.count)
        self.init(String(digits))
    }
}
