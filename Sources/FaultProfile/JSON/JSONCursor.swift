/// A cursor over the characters of a text, with line and column.
struct JSONCursor {
    private let scalars: [Unicode.Scalar]
    private let file: Int
    private var index = 0
    private var current = Place()

    init(scalars: [Unicode.Scalar], file: Int) {
        self.scalars = scalars
        self.file = file
    }

    /// The character here, `nil` at the end.
    var scalar: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    /// The character `distance` further on, `nil` past the end.
    func scalar(ahead distance: Int) -> Unicode.Scalar? {
        index + distance < scalars.count ? scalars[index + distance] : nil
    }

    /// Where the character here is.
    var place: SourcePlace { SourcePlace(file: file, place: current) }

    /// Advances by one character. A line ends with LF, CR LF or CR.
    mutating func advance() {
        guard let scalar else { return }
        index += 1
        if scalar == "\n" || (scalar == "\r" && self.scalar != "\n") {
            current.line += 1
            current.column = 1
        } else {
            current.column += 1
        }
    }

    /// Advances if the character is `expected`.
    mutating func skip(_ expected: Unicode.Scalar) -> Bool {
        guard scalar == expected else { return false }
        advance()
        return true
    }

    mutating func take(while condition: (Unicode.Scalar) -> Bool) -> String {
        var view = String.UnicodeScalarView()
        while let scalar, condition(scalar) {
            view.append(scalar)
            advance()
        }
        return String(view)
    }
}

extension Unicode.Scalar {
    /// The white space of RFC 8259 §2.
    var isJSONSpace: Bool { self == " " || self == "\t" || self == "\n" || self == "\r" }
    var isLineEnd: Bool { self == "\n" || self == "\r" }
    var isDigit: Bool { ("0"..."9").contains(self) }
    /// A letter, digit or sign that a number, a word or a value with a unit may be made of.
    var isWordCharacter: Bool {
        switch self {
        case "0"..."9", "A"..."Z", "a"..."z", "_", "$", "+", "-", ".", "%", "\u{B5}", "\u{3BC}": true
        default: false
        }
    }
    /// A letter or sign that a word begins with.
    var isWordStart: Bool {
        switch self {
        case "A"..."Z", "a"..."z", "_", "$": true
        default: false
        }
    }
}
