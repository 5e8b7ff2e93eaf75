/// The field lines of a proxy request's head, strictly read.
struct HandshakeFields {
    /// A field line, as ranges of the head.
    struct Line {
        let name: Range<Int>
        let value: Range<Int>
    }

    private(set) var lines: [Line] = []

    /// Reads the lines of `head` from `start` to its empty line; `nil` if one is malformed or folded (RFC 9112, section 5).
    init?(_ head: Span<UInt8>, from start: Int) {
        var index = start
        while let end = head.firstIndex(of: Byte.lineFeed, in: index..<head.count) {
            var line = index..<end
            index = end + 1
            if line.last.map({ head[$0] }) == Byte.carriageReturn { line = line.lowerBound..<line.upperBound - 1 }
            if line.isEmpty { return }
            guard let colon = head.firstIndex(of: Byte.colon, in: line), colon > line.lowerBound,
                (line.lowerBound..<colon).allSatisfy({ HandshakeFields.isToken(head[$0]) }),
                (colon + 1..<line.upperBound).allSatisfy({ HandshakeFields.isValue(head[$0]) })
            else { return nil }
            lines.append(Line(name: line.lowerBound..<colon, value: head.trimmed(colon + 1..<line.upperBound)))
        }
        return nil
    }

    /// How many fields have a lower-case name.
    func count(of name: String, in head: Span<UInt8>) -> Int {
        lines.count { head.extracting($0.name).equalsIgnoringCase(name) }
    }

    /// The value of the only field with a lower-case name; `nil` if there is none or more than one.
    func value(of name: String, in head: Span<UInt8>) -> Range<Int>? {
        var found: Range<Int>?
        for line in lines where head.extracting(line.name).equalsIgnoringCase(name) {
            if found != nil { return nil }
            found = line.value
        }
        return found
    }

    /// The lines of the fields, but those whose lower-case names `isLeftOut`.
    func text(in head: Span<UInt8>, leavingOut isLeftOut: (String) -> Bool) -> [UInt8] {
        var text: [UInt8] = []
        for field in lines {
            let name = head.text(field.name)
            if isLeftOut(name.lowercased()) { continue }
            text += "\(name): ".utf8
            for index in field.value { text.append(head[index]) }
            text += "\r\n".utf8
        }
        return text
    }

    /// The lower-case names of the fields that are for this connection only (RFC 9110, section 7.6.1).
    func connectionOptions(in head: Span<UInt8>) -> Set<String> {
        var options: Set<String> = ["connection", "te", "upgrade"]
        for line in lines where head.extracting(line.name).equalsIgnoringCase("connection") {
            var rest: Range<Int>? = line.value
            while let option = head.nextElement(of: &rest) { options.insert(head.text(option).lowercased()) }
        }
        // Without them the content would have another end.
        return options.subtracting(["content-length", "transfer-encoding"])
    }

    /// A byte of a token (RFC 9110, section 5.6.2).
    private static func isToken(_ byte: UInt8) -> Bool {
        Byte.isLetterOrDigit(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    private static func isValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == Byte.tab }
}
