import Foundation

/// Checks that a text is well-formed XML (nesting, attributes and entities), and counts its elements.
///
/// Foundation's parser would need another package on Linux.
struct XMLCheck {
    /// The number of each element's start tags.
    private(set) var elements: [String: Int] = [:]
    /// The first problem; `nil` if there is none.
    private(set) var problem: String?

    init(_ data: Data) {
        guard let text = String(data: data, encoding: .utf8) else {
            problem = "it is not UTF-8"
            return
        }
        check(text)
    }

    private mutating func check(_ text: String) {
        var open: [String] = []
        var rest = text[...]
        while let start = rest.firstIndex(of: "<") {
            checkCharacters(rest[..<start])
            rest = rest[rest.index(after: start)...]
            guard let end = rest.firstIndex(of: ">") else {
                problem = problem ?? "a tag without an end"
                return
            }
            let tag = rest[..<end]
            rest = rest[rest.index(after: end)...]
            if tag.hasPrefix("/") {
                if open.popLast() != String(tag.dropFirst()) {
                    problem = problem ?? "</\(tag.dropFirst())> closes another"
                }
                continue
            }
            let isEmpty = tag.hasSuffix("/")
            let body = isEmpty ? tag.dropLast() : tag
            guard body.wholeMatch(of: #/[A-Za-z]+( [A-Za-z0-9:-]+="[^"<]*")*/#) != nil else {
                problem = problem ?? "a tag that isn't one: \(tag)"
                return
            }
            checkCharacters(body)
            let name = String(body.prefix { $0 != " " })
            elements[name, default: 0] += 1
            if !isEmpty { open.append(name) }
        }
        checkCharacters(rest)
        if let left = open.last { problem = problem ?? "<\(left)> is never closed" }
    }

    private mutating func checkCharacters(_ text: Substring) {
        let entities = text.matches(of: #/&(amp|lt|gt|quot|#[0-9]+);/#).count
        if text.count(where: { $0 == "&" }) != entities { problem = problem ?? "an & that begins no entity: \(text)" }
        let isWhole = text.unicodeScalars.allSatisfy {
            $0.value >= 0x20 && $0.value != 0xFFFE && $0.value != 0xFFFF || $0 == "\n" || $0 == "\t"
        }
        if !isWhole { problem = problem ?? "a character that XML can't hold" }
    }
}
