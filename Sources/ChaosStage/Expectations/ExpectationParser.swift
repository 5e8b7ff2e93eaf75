import FaultProfile
import Units

/// Reads the tokens of an expectation.
///
///     expectation = conjunction *( "||" conjunction )
///     conjunction = condition *( "&&" condition )
///     condition   = "!" condition / "(" expectation ")" / operand comparison operand
///     operand     = number [unit] / text / [proxy "."] figure [ "(" argument ")" ]
struct ExpectationParser {
    private let text: String
    private let tokens: [ExpectationTokens.Element]
    private let proxies: [String]
    private var index = 0
    private var depth = 0

    static func read(_ text: String, proxies: [String]) throws(ExpectationError) -> ExpectationTerm {
        guard text.count <= Expectation.lengthLimit else {
            throw ExpectationError(
                text: String(text.prefix(40)),
                position: 0,
                what: "the expectation has more than \(Expectation.lengthLimit) characters",
                remedy: "give several, each with an --expect of its own"
            )
        }
        var parser = ExpectationParser(text: text, tokens: try ExpectationTokens.read(text), proxies: proxies)
        let term = try parser.expectation()
        if let (token, position) = parser.current { throw parser.superfluous(token, position) }
        return term
    }

    private var current: ExpectationTokens.Element? { index < tokens.count ? tokens[index] : nil }

    /// The position of the current token, or of the end.
    private var position: Int { current?.position ?? text.count }

    private mutating func takes(_ symbol: String) -> Bool {
        guard current?.token == .symbol(symbol) else { return false }
        index += 1
        return true
    }

    private mutating func expectation() throws(ExpectationError) -> ExpectationTerm {
        var terms = [try conjunction()]
        while takes("||") { terms.append(try conjunction()) }
        return terms.count == 1 ? terms[0] : .any(terms)
    }

    private mutating func conjunction() throws(ExpectationError) -> ExpectationTerm {
        var terms = [try condition()]
        while takes("&&") { terms.append(try condition()) }
        return terms.count == 1 ? terms[0] : .all(terms)
    }

    private mutating func condition() throws(ExpectationError) -> ExpectationTerm {
        let start = position
        depth += 1
        defer { depth -= 1 }
        guard depth <= Expectation.depthLimit else {
            throw error("parentheses are more than \(Expectation.depthLimit) deep", "leave some out", at: start)
        }
        if takes("!") { return .not(try condition()) }
        if takes("(") {
            let term = try expectation()
            guard takes(")") else { throw error("a “)” is missing", "write it here", at: position) }
            return term
        }
        return try comparison()
    }

    private mutating func comparison() throws(ExpectationError) -> ExpectationTerm {
        let start = position
        let left = try operand()
        let place = position
        guard case .symbol(let symbol)? = current?.token, let comparison = Comparison(rawValue: symbol)
        else {
            let what = "\(left.written.quoted) is \(left.form.title), and isn't compared with anything"
            throw error(what, "write a comparison, such as “\(left.written) >= \(left.form.example)”", at: place)
        }
        index += 1
        let rightPlace = position
        let right = try operand(after: left)
        guard left.form == right.form else {
            throw error(
                "\(left.written.quoted) is \(left.form.title), and \(right.written.quoted) \(right.form.title)",
                "compare it with \(left.form.title), such as “\(left.form.example)”",
                at: rightPlace
            )
        }
        if left.form == .text, comparison != .equal, comparison != .unequal {
            throw error("texts are neither above nor below each other", "write “==” or “!=”", at: place)
        }
        if case .value = left, case .value = right {
            throw error("both sides are written values", "compare a figure, such as “exit”", at: start)
        }
        return .comparison(left, comparison, right, text: written(from: start))
    }

    /// An operand. A number without a unit gets a suggestion from the operand it is compared with.
    private mutating func operand(after left: ExpectationOperand? = nil) throws(ExpectationError) -> ExpectationOperand
    {
        guard let (token, start) = current else {
            throw error(
                "something is missing at the end",
                "write a figure or a value, such as “exit == 0”",
                at: position
            )
        }
        switch token {
        case .number(let number, let unit):
            index += 1
            return .value(try value(number, unit, at: start, against: left?.form))
        case .text(let name):
            index += 1
            guard takes(".") else { return .value(.text(name)) }
            return try figure(of: name, at: start)
        case .word(let word):
            index += 1
            guard takes(".") else { return try operand(word, at: start, proxy: nil) }
            return try figure(of: word, at: start)
        case .symbol:
            throw error(
                "\(token.written.quoted) is in the place of a figure or a value",
                "write one in front of it",
                at: start
            )
        }
    }

    private mutating func figure(of proxy: String, at start: Int) throws(ExpectationError) -> ExpectationOperand {
        guard proxies.contains(proxy) else {
            throw unknown("proxy", proxy, among: proxies, at: start)
        }
        let place = position
        guard case .word(let word)? = current?.token else {
            throw error("a figure of the proxy is missing", "write one, such as “\(proxy).faults”", at: place)
        }
        index += 1
        return try operand(word, at: place, proxy: proxy)
    }

    private mutating func operand(
        _ word: String,
        at start: Int,
        proxy: String?
    ) throws(ExpectationError) -> ExpectationOperand {
        let figure: ExpectationOperand.Figure
        switch word {
        case "bytes": figure = try bytes()
        case "faults": figure = try faults()
        case "sha256" where proxy == nil: return .digest(path: try path())
        default:
            guard let plain = ExpectationOperand.Figure.plain.first(where: { $0.written == word }) else {
                throw unknown("figure", word, among: ExpectationOperand.words, at: start)
            }
            figure = plain
        }
        if proxy != nil, !figure.isOfProxy {
            throw error("\(word.quoted) is a figure of the command", "leave out the proxy in front of it", at: start)
        }
        return .figure(figure, proxy: proxy)
    }

    /// `bytes`, or one direction of them.
    private mutating func bytes() throws(ExpectationError) -> ExpectationOperand.Figure {
        guard let (word, place) = try argument() else { return .bytes }
        switch word {
        case "upstream": return .upstreamBytes
        case "downstream": return .downstreamBytes
        default: throw error("\(word.quoted) is no direction", "write “upstream” or “downstream”", at: place)
        }
    }

    /// `faults`, or those of a kind.
    private mutating func faults() throws(ExpectationError) -> ExpectationOperand.Figure {
        guard let (word, place) = try argument() else { return .faults }
        guard let kind = FaultKind.Name(rawValue: word) else {
            throw unknown("kind of fault", word, among: FaultKind.Name.allCases.map(\.rawValue), at: place)
        }
        return .faultsOf(kind)
    }

    private mutating func path() throws(ExpectationError) -> String {
        let place = position
        guard takes("("), case .text(let path)? = current?.token, !path.isEmpty else {
            throw error("sha256 needs the path of a file", "write “sha256(\"out.bin\")”", at: place)
        }
        index += 1
        guard takes(")") else { throw error("a “)” is missing", "write it here", at: position) }
        return path
    }

    /// A word in parentheses, if there is one.
    private mutating func argument() throws(ExpectationError) -> (word: String, position: Int)? {
        guard takes("(") else { return nil }
        let place = position
        guard case .word(let word)? = current?.token else {
            throw error("a word is missing in the parentheses", "write one, or leave them out", at: place)
        }
        index += 1
        guard takes(")") else { throw error("a “)” is missing", "write it here", at: position) }
        return (word, place)
    }

    private func value(
        _ number: String,
        _ unit: String,
        at start: Int,
        against form: ExpectationValue.Form?
    ) throws(ExpectationError) -> ExpectationValue {
        if unit == "%" {
            guard let percent = Double(number) else { throw noNumber(number, at: start) }
            return .share(percent / 100)
        }
        if unit.isEmpty {
            if let form, form != .count {
                let remedy = "write it with a unit, such as “\(form.example)”"
                throw error("\(number.quoted) has no unit, and is compared with \(form.title)", remedy, at: start)
            }
            guard let count = Int64(number) else { throw noNumber(number, at: start) }
            return .count(count)
        }
        let text = "\(number) \(unit)"
        if let time = try? Duration(parsing: text) { return .time(time) }
        do throws(UnitError) {
            return .size(try ByteCount(parsing: text).bytes)
        } catch {
            let remedy =
                form.map { "write \($0.title), such as “\($0.example)”" } ?? "units are s, ms, min, B, KiB, MiB, %"
            throw self.error("\(text.quoted) is no duration, size or share", remedy, at: start)
        }
    }

    private func noNumber(_ number: String, at position: Int) -> ExpectationError {
        let remedy = "write a whole number, or one with a unit, such as “5 %” or “30 s”"
        return error("\(number.quoted) is no whole number below 2⁶³", remedy, at: position)
    }

    private func unknown(
        _ thing: String,
        _ word: String,
        among known: [String],
        at position: Int
    ) -> ExpectationError {
        let near = Spelling.nearest(to: word, among: known).first.map { "did you mean “\($0)”?" }
        let things = ["figure": "figures", "proxy": "proxies"][thing] ?? "kinds"
        let remedy = near ?? "the \(things) are \(known.joined(separator: ", "))"
        return error("there is no \(thing) \(word.quoted)", remedy, at: position)
    }

    private func superfluous(_ token: ExpectationToken, _ position: Int) -> ExpectationError {
        if case .word(let word) = token, let joiner = ExpectationTokens.joiners[word] {
            return error("expectations are joined by symbols", "write “\(joiner)” for “\(word)”", at: position)
        }
        return error("\(token.written.quoted) is not expected here", "write “&&” or “||” in front of it", at: position)
    }

    /// The text from a position to the end of the last token.
    private func written(from start: Int) -> String {
        let characters = Array(text)
        let end = index < tokens.count ? tokens[index].position : characters.count
        var written = characters[start..<end]
        while let last = written.last, last.isWhitespace { written.removeLast() }
        return String(written)
    }

    private func error(_ what: String, _ remedy: String, at position: Int) -> ExpectationError {
        ExpectationError(text: text, position: position, what: what, remedy: remedy)
    }
}
