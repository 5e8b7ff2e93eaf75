/// The credentials in a `.netrc` file, by machine, as read by curl(1) and ftp(1).
///
/// Tokens are separated by white space; a double-quoted token may contain white space and `\n`, `\r`, `\t`, `\"` and
/// `\\`. A keyword position with `#` starts a comment. A `macdef` ends at an empty line.
package struct Netrc: Hashable, Sendable, Redacted {
    /// The maximum size of a file: 64 KiB.
    package static let maximumSize = 64 << 10

    private struct Entry: Hashable {
        /// The machine in lower case; `nil` for `default`.
        let machine: String?
        let line: Int
        var login: String?
        var password: String?
    }

    private struct Login: Hashable {
        let machine: String?
        let credentials: BasicCredentials
    }

    private let logins: [Login]

    /// Parses the contents of a file.
    package init(_ bytes: [UInt8]) throws(NetrcProblem) {
        guard bytes.count <= Self.maximumSize else { throw NetrcProblem(line: 1, kind: .tooLong) }
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw NetrcProblem(line: 1, kind: .notText)
        }
        var reader = NetrcReader(text)
        var found: [Entry] = []
        while let word = try reader.nextKeyword() {
            switch word {
            case "machine":
                let name = try reader.value().lowercased()
                let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
                found.append(
                    Entry(machine: isBracketed ? String(name.dropFirst().dropLast()) : name, line: reader.line)
                )
            case "default": found.append(Entry(machine: nil, line: reader.line))
            case "macdef":
                _ = try reader.value()
                reader.skipMacro()
            case "login", "password", "account":
                let value = try reader.value()
                guard let last = found.indices.last else { throw NetrcProblem(line: reader.line, kind: .noMachine) }
                if word == "login" { found[last].login = value }
                if word == "password" { found[last].password = value }
            default: throw NetrcProblem(line: reader.line, kind: .unknownWord)
            }
        }
        var logins: [Login] = []
        for entry in found where entry.login != nil || entry.password != nil {
            do throws(CredentialProblem) {
                let credentials = try BasicCredentials(name: entry.login ?? "", password: entry.password ?? "")
                logins.append(Login(machine: entry.machine, credentials: credentials))
            } catch {
                throw NetrcProblem(line: entry.line, kind: .credentials(error))
            }
        }
        self.logins = logins
    }

    /// The credentials for a host: from its first entry, or an earlier `default` entry if `orDefault`.
    package func credentials(for host: String, orDefault: Bool) -> BasicCredentials? {
        let host = host.lowercased()
        return logins.first { $0.machine.map { $0 == host } ?? orDefault }?.credentials
    }
}

/// A problem in a `.netrc` file. Contains nothing of the file.
package struct NetrcProblem: Error, Hashable, Sendable {
    /// The line, from 1.
    package let line: Int
    /// The problem.
    package let kind: Kind

    /// The kinds of problems.
    package enum Kind: Hashable, Sendable {
        /// Longer than `Netrc.maximumSize`.
        case tooLong
        /// Not UTF-8, or contains NUL.
        case notText
        /// A quoted token doesn't end on its line.
        case openQuote
        /// An unknown keyword.
        case unknownWord
        /// The value of the last keyword is missing.
        case noValue
        /// A login or password before the first machine.
        case noMachine
        /// The credentials of the entry that starts there can't be sent.
        case credentials(CredentialProblem)
    }
}

/// Splits a `.netrc` file into tokens.
private struct NetrcReader {
    private var rest: Substring.UnicodeScalarView
    /// The line of the last token, from 1.
    private(set) var line = 1

    init(_ text: String) {
        rest = Substring(text).unicodeScalars
    }

    /// The next token outside comments; `nil` at the end.
    mutating func nextKeyword() throws(NetrcProblem) -> String? {
        skipSpace()
        while rest.first == "#" {
            rest = rest.drop { $0 != "\n" }
            skipSpace()
        }
        return rest.isEmpty ? nil : try word()
    }

    /// The next token, as a value.
    mutating func value() throws(NetrcProblem) -> String {
        skipSpace()
        guard !rest.isEmpty else { throw NetrcProblem(line: line, kind: .noValue) }
        return try word()
    }

    /// Skips the lines of a macro, up to and including the empty one.
    mutating func skipMacro() {
        rest = rest.drop { $0 != "\n" }
        while rest.popFirst() != nil {
            line += 1
            let text = rest.prefix { $0 != "\n" }
            rest = rest.dropFirst(text.count)
            if text.allSatisfy({ $0 == "\r" }) { return }
        }
    }

    private mutating func skipSpace() {
        while let scalar = rest.first, [" ", "\t", "\r", "\n"].contains(scalar) {
            if scalar == "\n" { line += 1 }
            rest.removeFirst()
        }
    }

    private mutating func word() throws(NetrcProblem) -> String {
        guard rest.first == "\"" else {
            let word = rest.prefix { ![" ", "\t", "\r", "\n"].contains($0) }
            rest = rest.dropFirst(word.count)
            return String(word)
        }
        rest.removeFirst()
        var word = String.UnicodeScalarView()
        while let scalar = rest.popFirst(), scalar != "\n" {
            if scalar == "\"" { return String(word) }
            guard scalar == "\\" else {
                word.append(scalar)
                continue
            }
            switch rest.popFirst() {
            case "n": word.append("\n")
            case "r": word.append("\r")
            case "t": word.append("\t")
            case .some(let escaped): word.append(escaped)
            case nil: throw NetrcProblem(line: line, kind: .openQuote)
            }
        }
        throw NetrcProblem(line: line, kind: .openQuote)
    }
}
