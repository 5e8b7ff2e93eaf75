import Units

extension ProfileDecoder {
    /// `when`: the connections that a fault acts on.
    mutating func condition(_ node: JSONNode) -> Condition {
        var condition = Condition()
        guard let object = object(node, .condition) else { return condition }
        condition.proxies = object["proxy"].map { proxyNames($0) } ?? []
        if let connections = object["connection"].flatMap({ ordinals($0, key: "connection") }) {
            condition.connections = connections
        }
        if let chance = chance(object, "chance") { condition.chance = chance }
        if let node = object["age"], let (from, until) = window(node, key: "age", noun: "age", article: "an") {
            condition.ageFrom = from
            condition.ageUntil = until
        }
        condition.clients = object["client"].map { clients($0) } ?? []
        if let node = object["clock"], let (from, until) = window(node, key: "clock", noun: "time", article: "a") {
            condition.clock = ClockWindow(from: from, until: until)
        }
        condition.duty = object["duty"].flatMap { duty($0) }
        condition.after = name(object, "after", limit: ProfileLimits.faultNameLength)
        condition.http = object["http"].flatMap { HTTPCondition.table.read($0, &self) }
        return condition
    }

    private static let ordinalRemedy = "write 3, “1..2”, “3..” or { \"every\": 3 }"

    /// Connections, or requests, by number.
    mutating func ordinals(_ node: JSONNode, key: String) -> ConnectionSelection? {
        let allowed = 1...ProfileLimits.connectionNumber
        switch node.value {
        case .number:
            guard let number = wholeNumber(node, key: key, in: allowed) else { return nil }
            return .range(number...number)
        case .object:
            let shape = key == "request" ? ObjectShape.requestStep : .connectionStep
            guard let object = object(node, shape), let step = object["every"] else { return nil }
            return wholeNumber(step, key: "every", in: allowed).map { .every($0) }
        case .text(let text):
            return ordinalRange(text, key: key, at: node.place)
        case .array, .boolean, .null, .unreadable:
            reportType(
                of: node,
                expected: "a number, a range or a step",
                key: key,
                remedy: ProfileDecoder.ordinalRemedy
            )
            return nil
        }
    }

    private mutating func ordinalRange(_ text: String, key: String, at place: SourcePlace) -> ConnectionSelection? {
        guard let (first, last) = rangeEnds(of: text), let lower = connectionNumber(first),
            let upper = last.isEmpty ? UInt64.max : connectionNumber(last)
        else {
            report("\(text.quoted) is not a range of \(key)s", remedy: ProfileDecoder.ordinalRemedy, at: place)
            return nil
        }
        guard lower <= upper else {
            report("the range \(text.quoted) ends before it begins", remedy: "write “\(upper)..\(lower)”", at: place)
            return nil
        }
        return .range(lower...upper)
    }

    private func connectionNumber(_ digits: String) -> UInt64? {
        guard digits.utf8.allSatisfy({ (48...57).contains($0) }), !digits.hasPrefix("0"), let number = UInt64(digits),
            number <= ProfileLimits.connectionNumber
        else { return nil }
        return number
    }

    private mutating func window(
        _ node: JSONNode,
        key: String,
        noun: String,
        article: String
    ) -> (from: Duration, until: Duration?)? {
        let remedy = "write “5 s” (from then on), “5 s..10 s” or “..10 s”"
        let text: String
        switch node.value {
        case .text(let given), .number(let given): text = given
        case .object, .array, .boolean, .null, .unreadable:
            reportType(of: node, expected: "a text with a unit", key: key, remedy: remedy)
            return nil
        }
        let (first, last) = rangeEnds(of: text) ?? (text, "")
        let isTooLong = text.unicodeScalars.count > ProfileLimits.valueLength
        if isTooLong || (first.isEmpty && last.isEmpty) {
            report("\(text.quoted) is not \(article) \(noun)", remedy: remedy, at: node.place)
            return nil
        }
        do {
            let from = try first.isEmpty ? .zero : Duration(parsing: first)
            let until = try last.isEmpty ? nil : Duration(parsing: last)
            if let until, until <= from {
                report(
                    "the \(noun) \(text.quoted) ends where it begins, or before",
                    remedy: "write the smaller \(noun) first",
                    at: node.place
                )
                return nil
            }
            return (from, until)
        } catch {
            report(error, at: node.place)
            return nil
        }
    }

    /// What stands before and after the first "..".
    private func rangeEnds(of text: String) -> (first: String, last: String)? {
        let scalars = Array(text.unicodeScalars)
        let starts = scalars.indices.dropLast()
        guard let dots = starts.first(where: { scalars[$0] == "." && scalars[$0 + 1] == "." }) else { return nil }
        var first = String.UnicodeScalarView()
        var last = String.UnicodeScalarView()
        first.append(contentsOf: scalars[..<dots])
        last.append(contentsOf: scalars[(dots + 2)...])
        return (String(first), String(last))
    }
}
