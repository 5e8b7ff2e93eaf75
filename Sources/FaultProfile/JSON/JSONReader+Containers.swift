import Units

extension JSONReader {
    /// Reads the object that begins here.
    mutating func object() throws(Stopped) -> JSONValue {
        let start = cursor.place
        cursor.advance()
        var members: [JSONMember] = []
        var firstPlaces: [String: SourcePlace] = [:]
        while try hasNext(before: "}", of: "object", from: start, isFirst: members.isEmpty && firstPlaces.isEmpty) {
            let place = cursor.place
            let key = try key()
            try skipSpace()
            if !cursor.skip(":") { try missingColon(after: key) }
            try skipSpace()
            let node = try value()
            if let first = firstPlaces[key] {
                report(
                    "the key \(key.quoted) stands here a second time",
                    remedy: "keep this one or that of line \(first.place.line), column \(first.place.column)",
                    at: place
                )
            } else {
                firstPlaces[key] = place
                members.append(JSONMember(key: key, place: place, node: node))
            }
        }
        return .object(members)
    }

    /// Reads the list that begins here.
    mutating func array() throws(Stopped) -> JSONValue {
        let start = cursor.place
        cursor.advance()
        var elements: [JSONNode] = []
        while try hasNext(before: "]", of: "list", from: start, isFirst: elements.isEmpty) {
            elements.append(try value())
        }
        return .array(elements)
    }

    /// Skips the comma before the next value or the closing mark; returns whether a value follows.
    private mutating func hasNext(
        before closing: Unicode.Scalar,
        of container: String,
        from start: SourcePlace,
        isFirst: Bool
    ) throws(Stopped) -> Bool {
        try skipSpace()
        if cursor.skip(closing) { return false }
        let place = cursor.place
        guard let scalar = cursor.scalar else { throw unclosed(container, closing, from: start) }
        if scalar == "," {
            cursor.advance()
            try skipSpace()
            if isFirst { report("a comma stands in front of the first value", remedy: "delete it", at: place) }
            if cursor.skip(closing) {
                if !isFirst {
                    report("a comma stands after the last value of the \(container)", remedy: "delete it", at: place)
                }
                return false
            }
            if cursor.scalar == nil { throw unclosed(container, closing, from: start) }
            return true
        }
        if isFirst { return true }
        guard scalar == "\"" || scalar == "{" || scalar == "[" || scalar.isWordCharacter else {
            throw stop(
                "\(String(scalar).quoted) stands where the \(container) should go on or end",
                remedy: "write a comma and another value, or \(String(closing).quoted)"
            )
        }
        report("a comma is missing in front of this value", remedy: "write it")
        return true
    }

    private mutating func unclosed(_ container: String, _ closing: Unicode.Scalar, from start: SourcePlace) -> Stopped {
        stop(
            "the \(container) that begins here never ends",
            remedy: "close it with \(String(closing).quoted)",
            at: start
        )
    }

    private mutating func key() throws(Stopped) -> String {
        guard let scalar = cursor.scalar else { throw stop("the file ends where a key is due", remedy: "add it") }
        if scalar == "\"" || scalar == "'" { return try text() }
        let place = cursor.place
        if scalar.isWordStart {
            let key = cursor.take { $0.isWordCharacter }
            report("a key stands without quotes", remedy: "write “\"\(key.shortened(to: 40))\"”", at: place)
            return key
        }
        throw stop("\(String(scalar).quoted) stands where a key is due", remedy: "write a key in double quotes")
    }

    private mutating func missingColon(after key: String) throws(Stopped) {
        let what = "a colon is missing after the key \(key.quoted)"
        let remedy = "write “\"\(key.shortened(to: 40))\": …”"
        if cursor.scalar == "=" {
            report(what, remedy: remedy)
            cursor.advance()
            return
        }
        guard let scalar = cursor.scalar, scalar == "\"" || scalar == "{" || scalar == "[" || scalar.isWordCharacter
        else { throw stop(what, remedy: remedy) }
        report(what, remedy: remedy)
    }
}
