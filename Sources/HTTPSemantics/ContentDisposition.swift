/// The file name in a `Content-Disposition` field (RFC 6266).
public enum ContentDisposition {
    /// The last path component of `filename*` in UTF-8 (RFC 8187), else of `filename`; `nil` without one that can name a
    /// file in a folder.
    ///
    /// A name is 1 to 230 bytes long, so that files beside it can have longer ones, has no slash, backslash or control
    /// character, and doesn't begin with a dot: a server must not choose another folder or a hidden file (RFC 6266, section
    /// 4.3).
    public static func fileName(_ headerValue: String) -> String? {
        var plain: String?
        for parameter in parameters(headerValue) {
            let parts = parameter.split(separator: "=", maxSplits: 1).map { trimmed($0) }
            guard parts.count == 2 else { continue }
            switch parts[0].lowercased() {
            case "filename*":
                let pieces = parts[1].split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
                guard pieces.count == 3, pieces[0].lowercased() == "utf-8",
                    let decoded = PercentCoding.decoded(pieces[2]), let name = usable(decoded)
                else { continue }
                return name
            case "filename": plain = plain ?? usable(unquoted(parts[1]))
            default: continue
            }
        }
        return plain
    }

    /// The parameters behind the type; a semicolon in quotes is part of a value.
    private static func parameters(_ text: String) -> [Substring] {
        var found: [Substring] = []
        var start = text.startIndex
        var (isQuoted, isEscaped) = (false, false)
        for index in text.indices {
            let character = text[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == ";", !isQuoted {
                found.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        found.append(text[start...])
        return Array(found.dropFirst())
    }

    private static func unquoted(_ text: Substring) -> String {
        guard text.hasPrefix("\""), text.hasSuffix("\""), text.count > 1 else { return String(text) }
        var value = ""
        var isEscaped = false
        for character in text.dropFirst().dropLast() {
            isEscaped = !isEscaped && character == "\\"
            if !isEscaped { value.append(character) }
        }
        return value
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    private static func usable(_ text: String) -> String? {
        let last =
            text.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last.map { String($0) } ?? ""
        guard (1...230).contains(last.utf8.count), !last.hasPrefix("."),
            last.unicodeScalars.allSatisfy({ $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && $0 != "\u{FFFD}" }
            )
        else { return nil }
        return last
    }
}
