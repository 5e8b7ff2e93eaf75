import Units

extension ProfileDecoder {
    /// A text of up to `ProfileLimits.textLength` characters.
    mutating func text(_ object: CheckedObject, _ key: String) -> String? {
        guard let node = object[key] else { return nil }
        return text(node, key: key, limit: ProfileLimits.textLength)
    }

    /// A name: 1 to `limit` characters, none of them a control character.
    mutating func name(
        _ object: CheckedObject,
        _ key: String = "name",
        limit: Int = ProfileLimits.nameLength
    ) -> String? {
        guard let node = object[key], let name = text(node, key: key, limit: limit) else { return nil }
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

    mutating func text(_ node: JSONNode, key: String, limit: Int) -> String? {
        guard case .text(let text) = node.value else {
            reportType(of: node, expected: "a text", key: key, remedy: "write it in double quotes")
            return nil
        }
        guard text.unicodeScalars.count <= limit else {
            report(
                "\(key.quoted) has \(text.unicodeScalars.count) characters, more than \(limit)",
                remedy: "shorten it",
                at: node.place
            )
            return nil
        }
        return text
    }

    mutating func flag(_ object: CheckedObject, _ key: String) -> Bool? {
        guard let node = object[key] else { return nil }
        if case .boolean(let flag) = node.value { return flag }
        reportType(of: node, expected: "true or false", key: key, remedy: "write true or false, without quotes")
        return nil
    }

    /// A whole number from `range`.
    mutating func wholeNumber(_ node: JSONNode, key: String, in range: ClosedRange<UInt64>) -> UInt64? {
        let remedy = "write a whole number from \(range.lowerBound) to \(range.upperBound), without quotes"
        guard case .number(let digits) = node.value else {
            reportType(of: node, expected: "a whole number", key: key, remedy: remedy)
            return nil
        }
        if let number = UInt64(wholeNumber: digits), range.contains(number) { return number }
        report("\(key.quoted) can't be \(digits.shortened(to: 40))", remedy: remedy, at: node.place)
        return nil
    }

    mutating func duration(_ object: CheckedObject, _ key: String) -> Duration? {
        measure(object, key, example: "250 ms", Duration.init(parsing:))
    }

    mutating func positiveDuration(_ object: CheckedObject, _ key: String) -> Duration? {
        guard let duration = duration(object, key), let node = object[key] else { return nil }
        if duration > .zero { return duration }
        report("\(key.quoted) is zero", remedy: "write a duration above zero, such as “250 ms”", at: node.place)
        return nil
    }

    /// A time that comes again and again, as a phase does: `ProfileLimits.shortestPeriod` or more.
    mutating func period(_ object: CheckedObject, _ key: String) -> Duration? {
        guard let period = positiveDuration(object, key), let node = object[key] else { return nil }
        let shortest = ProfileLimits.shortestPeriod
        if period >= shortest { return period }
        report(
            "\(key.quoted) is \(period.text), and the shortest time that comes again and again is \(shortest.text)",
            remedy: "write \(shortest.text.quoted) or more",
            at: node.place
        )
        return nil
    }

    /// A round trip: above zero, and at most `ProfileLimits.roundTrip`.
    mutating func roundTrip(_ object: CheckedObject, _ key: String) -> Duration? {
        guard let roundTrip = positiveDuration(object, key), let node = object[key] else { return nil }
        if roundTrip <= ProfileLimits.roundTrip { return roundTrip }
        report("\(key.quoted) is longer than a day", remedy: "write a round trip, such as “60 ms”", at: node.place)
        return nil
    }

    mutating func size(_ object: CheckedObject, _ key: String) -> ByteCount? {
        measure(object, key, example: "64 KiB", ByteCount.init(parsing:))
    }

    mutating func positiveSize(_ object: CheckedObject, _ key: String) -> ByteCount? {
        guard let size = size(object, key), let node = object[key] else { return nil }
        if size > .zero { return size }
        report("\(key.quoted) is zero", remedy: "write a size above zero, such as “64 KiB”", at: node.place)
        return nil
    }

    mutating func rate(_ object: CheckedObject, _ key: String) -> BitRate? {
        guard let rate = measure(object, key, example: "20 Mbit/s", BitRate.init(parsing:)), let node = object[key]
        else { return nil }
        if rate.bitsPerSecond > 0 { return rate }
        report(
            "\(key.quoted) is zero",
            remedy: "write a rate above zero, or use a “stall” or an “outage” to let nothing pass",
            at: node.place
        )
        return nil
    }

    /// Tells when not exactly one of `keys` is given.
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

    /// A list of two sizes, the lower first.
    mutating func sizeRange(_ object: CheckedObject, _ key: String) -> (low: ByteCount, high: ByteCount)? {
        guard let node = object[key] else { return nil }
        let remedy = "write the lower and the upper offset: “[\"1 MB\", \"10 MB\"]”"
        guard case .array(let nodes) = node.value else {
            reportType(of: node, expected: "a list of two sizes", key: key, remedy: remedy)
            return nil
        }
        guard nodes.count == 2 else {
            report("\(key.quoted) has \(nodes.count) values, not two", remedy: remedy, at: node.place)
            return nil
        }
        let sizes = nodes.compactMap { measure($0, key: key, example: "1 MB", ByteCount.init(parsing:)) }
        guard sizes.count == 2 else { return nil }
        guard sizes[0] <= sizes[1] else {
            report(
                "the lower offset, \(sizes[0].text), is above the upper one, \(sizes[1].text)",
                remedy: "write the smaller one first",
                at: node.place
            )
            return nil
        }
        return (sizes[0], sizes[1])
    }

    mutating func chance(_ object: CheckedObject, _ key: String) -> Probability? {
        measure(object, key, example: "20 %", Probability.init(parsing:))
    }

    private mutating func measure<Value>(
        _ object: CheckedObject,
        _ key: String,
        example: String,
        _ parse: (String) throws(UnitError) -> Value
    ) -> Value? {
        guard let node = object[key] else { return nil }
        return measure(node, key: key, example: example, parse)
    }

    /// A value with a unit. A bare number is reported with the units that it may have meant.
    mutating func measure<Value>(
        _ node: JSONNode,
        key: String,
        example: String,
        _ parse: (String) throws(UnitError) -> Value
    ) -> Value? {
        let text: String
        switch node.value {
        case .text(let given), .number(let given): text = given
        case .object, .array, .boolean, .null, .unreadable:
            reportType(of: node, expected: "a text with a unit", key: key, remedy: "write one such as “\"\(example)\"”")
            return nil
        }
        do {
            return try parse(text)
        } catch {
            report(error, at: node.place)
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
