import Units

/// Reads a JSON document (RFC 8259) with the place of every value, and reports as many syntax errors as possible at once.
///
/// The caller limits the bytes; the nesting is limited by `deepestNesting`.
package struct JSONReader {
    package static let deepestNesting = 64

    /// Thrown after a reported problem from which reading can't recover.
    struct Stopped: Error {}

    var cursor: JSONCursor
    var problems: ProblemList
    private var depth = 0

    private init(cursor: JSONCursor, problems: ProblemList) {
        self.cursor = cursor
        self.problems = problems
    }

    /// The document's value, with recoverable errors repaired; `nil` if it can't be read. Every problem is added to
    /// `problems` for the file number `file`.
    static func read(
        _ bytes: [UInt8],
        file: Int,
        limit: Int = ProfileLimits.fileBytes,
        problems: inout ProblemList
    ) -> JSONNode? {
        let start = SourcePlace(file: file, place: Place())
        guard bytes.count <= limit else {
            problems.add(
                "the file has more than \(limit) bytes, the most that a profile may have",
                remedy: "is it a profile at all? If so, split it with “extends”",
                at: start
            )
            return nil
        }
        let scalars = decodedUTF8(bytes, file: file, problems: &problems)
        var reader = JSONReader(cursor: JSONCursor(scalars: scalars, file: file), problems: problems)
        let node = try? reader.document()
        problems = reader.problems
        return node
    }

    /// The first value of `bytes`, whatever follows it, or the only one.
    ///
    /// - Throws: the first problem; its file is `name`.
    package static func firstValue(of bytes: [UInt8], name: String, isOnly: Bool = false) throws(Problem) -> JSONNode {
        var problems = ProblemList()
        let file = problems.addFile(name)
        let scalars = decodedUTF8(bytes, file: file, problems: &problems)
        var reader = JSONReader(cursor: JSONCursor(scalars: scalars, file: file), problems: problems)
        var node: JSONNode?
        if isOnly {
            node = try? reader.document()
        } else if (try? reader.skipSpace()) != nil {
            node = try? reader.value()
        }
        if let problem = reader.problems.result()?.problems.first { throw problem }
        guard let node else { preconditionFailure("a text that can't be read has been reported") }
        return node
    }

    /// The beginning of a text.
    enum Beginning {
        /// Only white space and comments.
        case nothing
        /// An object, with its first key if there is one.
        case object(String?)
        /// Anything else.
        case other
    }

    /// The beginning of `bytes`, of which 64 KiB are read.
    static func beginning(of bytes: [UInt8]) -> Beginning {
        var problems = ProblemList()
        let file = problems.addFile("")
        let scalars = decodedUTF8(Array(bytes.prefix(64 << 10)), file: file, problems: &problems)
        var reader = JSONReader(cursor: JSONCursor(scalars: scalars, file: file), problems: problems)
        guard (try? reader.skipSpace()) != nil else { return .other }
        guard reader.cursor.scalar != nil else { return .nothing }
        guard reader.cursor.skip("{"), (try? reader.skipSpace()) != nil else { return .other }
        switch reader.cursor.scalar {
        case nil, "}", ",": return .object(nil)
        case "\"", "'": return (try? reader.text()).map { .object($0) } ?? .other
        default: return .object(reader.cursor.take { $0.isWordCharacter })
        }
    }

    mutating func report(
        _ what: @autoclosure () -> String,
        remedy: @autoclosure () -> String,
        at place: SourcePlace? = nil
    ) {
        problems.add(what(), remedy: remedy(), at: place ?? cursor.place, code: .syntax)
    }

    mutating func stop(_ what: String, remedy: String, at place: SourcePlace? = nil) -> Stopped {
        report(what, remedy: remedy, at: place)
        return Stopped()
    }

    private mutating func document() throws(Stopped) -> JSONNode {
        try skipSpace()
        guard cursor.scalar != nil else {
            throw stop("the file is empty", remedy: "write a profile, such as { \"name\": \"my-profile\" }")
        }
        let node = try value()
        try skipSpace()
        if let scalar = cursor.scalar {
            throw stop(
                "\(String(scalar).quoted) comes after the end of the profile",
                remedy: "delete it, or move it in front of the last closing brace"
            )
        }
        return node
    }

    /// Reads the value that begins here.
    mutating func value() throws(Stopped) -> JSONNode {
        let place = cursor.place
        guard let scalar = cursor.scalar else { throw stop("the file ends where a value is due", remedy: "add it") }
        switch scalar {
        case "{": return JSONNode(value: try nested { reader throws(Stopped) in try reader.object() }, place: place)
        case "[": return JSONNode(value: try nested { reader throws(Stopped) in try reader.array() }, place: place)
        case "\"", "'": return JSONNode(value: .text(try text()), place: place)
        default:
            if scalar.isWordCharacter { return JSONNode(value: word(), place: place) }
            throw stop(
                "\(String(scalar).quoted) stands where a value is due",
                remedy: "write a text in double quotes, a number, true, false, an object or a list"
            )
        }
    }

    private mutating func nested(
        _ read: (inout JSONReader) throws(Stopped) -> JSONValue
    ) throws(Stopped) -> JSONValue {
        guard depth < JSONReader.deepestNesting else {
            throw stop(
                "objects and lists are nested more than \(JSONReader.deepestNesting) deep",
                remedy: "a profile needs no more than 8 levels"
            )
        }
        depth += 1
        defer { depth -= 1 }
        return try read(&self)
    }

    /// Skips white space and, after reporting them, comments.
    mutating func skipSpace() throws(Stopped) {
        while let scalar = cursor.scalar {
            if scalar.isJSONSpace {
                cursor.advance()
            } else if scalar == "#" || (scalar == "/" && cursor.scalar(ahead: 1) == "/") {
                reportComment()
                _ = cursor.take { !$0.isLineEnd }
            } else if scalar == "/" && cursor.scalar(ahead: 1) == "*" {
                try skipBlockComment()
            } else {
                return
            }
        }
    }

    private mutating func reportComment() {
        report("JSON has no comments", remedy: "delete it, or move what it says to “summary” or a “name”")
    }

    private mutating func skipBlockComment() throws(Stopped) {
        reportComment()
        let start = cursor.place
        cursor.advance()
        cursor.advance()
        while cursor.scalar != nil {
            if cursor.skip("*") {
                if cursor.skip("/") { return }
            } else {
                cursor.advance()
            }
        }
        throw stop("the comment never ends", remedy: "delete it", at: start)
    }
}

/// Decodes UTF-8 without a byte order mark. Invalid sequences become U+FFFD; the first is reported.
private func decodedUTF8(_ bytes: [UInt8], file: Int, problems: inout ProblemList) -> [Unicode.Scalar] {
    var iterator = bytes.makeIterator()
    var decoder = Unicode.UTF8()
    var scalars: [Unicode.Scalar] = []
    scalars.reserveCapacity(bytes.count)
    var firstInvalid: Int?
    decoding: while true {
        switch decoder.decode(&iterator) {
        case .scalarValue(let scalar): scalars.append(scalar)
        case .emptyInput: break decoding
        case .error:
            if firstInvalid == nil { firstInvalid = scalars.count }
            scalars.append("\u{FFFD}")
        }
    }
    let mark = scalars.first == "\u{FEFF}" ? 1 : 0
    scalars.removeFirst(mark)
    if let firstInvalid {
        var cursor = JSONCursor(scalars: scalars, file: file)
        for _ in mark..<firstInvalid { cursor.advance() }
        problems.add(
            "the file is not valid UTF-8",
            remedy: "save it with the encoding UTF-8",
            at: cursor.place,
            code: .syntax
        )
    }
    return scalars
}
