/// A text such as "1.5 ms", split into digits and unit.
struct UnitText {
    /// Texts longer than this are refused unread.
    static let longest = 400

    let text: String
    /// The digits before the decimal point; at least one.
    let whole: [UInt8]
    /// The digits after it, without the zeros at the end; often none.
    let fraction: [UInt8]
    let number: String
    /// The text after the number and spaces; may be empty.
    let unit: String

    /// Takes `text` apart. `example` is a correct text, for the remedies.
    init(_ text: String, example: String) throws(UnitError) {
        let scalars = Array(text.unicodeScalars)
        try UnitText.checkBeginning(of: scalars, example: example)
        var scanner = DigitScanner(scalars: scalars)
        let whole = scanner.digits()
        var fraction: [UInt8] = []
        if scanner.skip(".") {
            fraction = scanner.digits()
            if fraction.isEmpty { throw UnitError.noDigit(after: scalars, upTo: scanner.index) }
        }
        try UnitText.checkAfterNumber(scalars, at: scanner.index, example: example)
        number = UnitText.string(scalars[..<scanner.index])
        while scanner.skip(" ") {}
        unit = UnitText.string(scalars[scanner.index...])
        while fraction.last == 0 { fraction.removeLast() }
        self.text = text
        self.whole = whole
        self.fraction = fraction
    }

    private static func checkBeginning(of scalars: [Unicode.Scalar], example: String) throws(UnitError) {
        let text = string(scalars[...])
        guard let first = scalars.first, let last = scalars.last else {
            throw UnitError(
                problem: "the text is empty",
                remedy: "write a number and a unit, such as \(example.quoted)"
            )
        }
        guard scalars.count <= longest else {
            throw UnitError(
                problem: "\(text.quoted) has more than \(longest) characters",
                remedy: "write a number and a unit, such as \(example.quoted)"
            )
        }
        if first == " " || last == " " {
            let kept = scalars.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
            let remedy = kept.isEmpty ? example : string(Array(kept)[...])
            throw UnitError(problem: "\(text.quoted) begins or ends with a space", remedy: "write \(remedy.quoted)")
        }
        if first.isDigit { return }
        let rest = string(scalars.dropFirst())
        let hasDigitNext = scalars.count > 1 && scalars[1].isDigit
        if first == "-" || first == "\u{2212}" {
            throw UnitError(
                problem: "\(text.quoted) is negative",
                remedy: "write zero or more, such as \(example.quoted)"
            )
        }
        if first == "+" && hasDigitNext {
            throw UnitError(problem: "\(text.quoted) begins with a plus sign", remedy: "write \(rest.quoted)")
        }
        if first == "." && hasDigitNext {
            throw UnitError(
                problem: "\(text.quoted) has no digit before the point",
                remedy: "write \("0\(text)".quoted)"
            )
        }
        throw UnitError(
            problem: "\(text.quoted) doesn't begin with a number",
            remedy: "write a number and a unit, such as \(example.quoted)"
        )
    }

    private static func checkAfterNumber(
        _ scalars: [Unicode.Scalar],
        at index: Int,
        example: String
    ) throws(UnitError) {
        guard index + 1 < scalars.count else { return }
        let text = string(scalars[...]).quoted
        let (here, next) = (scalars[index], scalars[index + 1])
        if (here == "," || here == "_" || here == "'") && next.isDigit {
            throw UnitError(
                problem: "\(text) has \(string(scalars[index...index]).quoted) among its digits",
                remedy: "write digits only, with “.” for the decimal point, such as \(example.quoted)"
            )
        }
        if (here == "e" || here == "E") && (next.isDigit || next == "+" || next == "-") {
            throw UnitError(
                problem: "\(text) has an exponent",
                remedy: "write the number out, such as \(example.quoted)"
            )
        }
    }

    /// A text of the given characters.
    static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}

extension UnitError {
    fileprivate static func noDigit(after scalars: [Unicode.Scalar], upTo index: Int) -> UnitError {
        let text = UnitText.string(scalars[...])
        let repaired = UnitText.string(scalars[..<(index - 1)]) + UnitText.string(scalars[index...])
        return UnitError(
            problem: "\(text.quoted) has no digit after the point",
            remedy: "write \(repaired.quoted)"
        )
    }
}

/// Walks over the digits of a text.
private struct DigitScanner {
    let scalars: [Unicode.Scalar]
    var index = 0

    mutating func digits() -> [UInt8] {
        var digits: [UInt8] = []
        while index < scalars.count, scalars[index].isDigit {
            digits.append(UInt8(scalars[index].value - 48))
            index += 1
        }
        return digits
    }

    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard index < scalars.count, scalars[index] == scalar else { return false }
        index += 1
        return true
    }
}

extension Unicode.Scalar {
    fileprivate var isDigit: Bool { ("0"..."9").contains(self) }
}
