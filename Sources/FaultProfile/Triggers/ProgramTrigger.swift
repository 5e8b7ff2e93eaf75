import Units

extension Trigger {
    static let program = list(
        "program",
        \.programs,
        .oneOrMore(
            "programs",
            #"`"curl"`, `"/usr/bin/python3"`"#,
            of: .parsed(.program, "a program", ProgramPattern.init(parsing:), text: \.text),
            "programs",
            empty: "write the name of a program, or delete the key"
        ),
        "the programs of `squall exec` by name, or by path",
        fact: .program,
        holds: { pattern, facts in facts.program.map(pattern.matches) ?? false },
        sentence: "of",
        name: { $0.text }
    )
}

/// A running program, as the system knows it.
public struct Program: Hashable, Sendable {
    /// The name of its process, at most 15 bytes (`comm` of proc(5)).
    public let name: String
    /// The path of its file; `nil` if it can't be had.
    public let path: String?

    /// A program by its process's name and its path.
    public init(name: String, path: String? = nil) {
        (self.name, self.path) = (name, path)
    }
}

/// Programs, as a condition of a fault: by the name of the process or of its file, or by the path of the file.
public struct ProgramPattern: Hashable, Sendable {
    /// The longest text: 4,095 bytes, that of a path.
    private static let longest = 4_095

    /// The pattern as it is written.
    public let text: String

    /// Reads a name ("curl"), or a path from the root ("/usr/bin/curl").
    ///
    /// Throws for anything else.
    public init(parsing text: String) throws(UnitError) {
        let isName = !text.isEmpty && !text.contains("/")
        guard isName || (text.hasPrefix("/") && !text.hasSuffix("/")), text.utf8.count <= ProgramPattern.longest,
            !text.unicodeScalars.contains("\0")
        else {
            throw UnitError(
                problem: "\(text.quoted) is not a program",
                remedy: "write its name, such as “curl”, or its path from the root, such as “/usr/bin/curl”"
            )
        }
        self.text = text
    }

    /// Whether a program is meant.
    public func matches(_ program: Program) -> Bool {
        if text.hasPrefix("/") { return program.path == text }
        return program.name == text || program.path?.split(separator: "/").last.map(String.init) == text
    }
}
