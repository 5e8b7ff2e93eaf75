import Units

/// One problem of a profile, with its place and a remedy.
public struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file's name, as its source gave it.
    public let file: String
    /// The line, counted from 1.
    public let line: Int
    /// The column, counted from 1 in characters (Unicode scalars), as an editor shows it.
    public let column: Int
    /// What is wrong, as a clause on one line.
    public let what: String
    /// What to do about it, as an instruction on one line.
    public let remedy: String
    /// The sort of problem, for programs.
    public let code: Code

    /// A sort of problem; its raw value stays the same in later versions.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The text isn't JSON (RFC 8259), or not UTF-8.
        case syntax
        /// An object lacks a required key.
        case missingKey = "missing-key"
        /// An object has a key that isn't one of its keys.
        case unknownKey = "unknown-key"
        /// A value has another JSON type.
        case wrongType = "wrong-type"
        /// A word isn't among the words of its key.
        case unknownValue = "unknown-value"
        /// A value is out of its range, or contradicts another one.
        case invalidValue = "invalid-value"
        /// A file or a shipped profile isn't there, or can't be read.
        case notFound = "not-found"
        /// A warning: the profile is valid, but this part of it probably does something else than it was written for.
        case doubtful
    }

    /// Makes a problem; line and column count from 1, and are 0 for a file as a whole. The clauses may quote the profile,
    /// so control characters become `\u{…}`.
    public init(
        file: String,
        line: Int,
        column: Int,
        what: String,
        remedy: String,
        code: Code = .invalidValue
    ) {
        self.code = code
        self.file = file
        self.line = line
        self.column = column
        self.what = what.shortened(to: 4096)
        self.remedy = remedy.shortened(to: 4096)
    }

    /// `file:line:column: what (what to do)`, always one line; a warning has that word before its text, and no line 0.
    public var description: String {
        let file = file.shortened(to: 4096)
        let place = code == .doubtful && line == 0 ? file : "\(file):\(line):\(column)"
        return "\(place): \(code == .doubtful ? "warning: " : "")\(what) (\(remedy))"
    }
}

/// All problems of a profile and the profiles that it extends; never empty.
public struct ProfileProblems: Error, Hashable, Sendable, CustomStringConvertible {
    /// At most this many problems are listed, the first ones.
    public static let limit = 100

    /// The problems by file, the profile's own first, and by place in each.
    public let problems: [Problem]
    /// How many more there are.
    public let omitted: Int

    /// Makes an error of at least one problem and the number of omitted ones.
    public init(problems: [Problem], omitted: Int = 0) {
        self.problems = problems
        self.omitted = omitted
    }

    /// A line for each problem, and "and N more" where some were left out.
    public var description: String {
        let lines = problems.map(\.description) + (omitted > 0 ? ["and \(omitted) more"] : [])
        return lines.joined(separator: "\n")
    }
}

/// A place in a text: line and column, both counted from 1.
struct Place: Comparable, Hashable, Sendable {
    var line = 1
    var column = 1

    static func < (left: Place, right: Place) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A place in one of the files that make up a profile.
package struct SourcePlace: Comparable, Hashable, Sendable {
    /// The file: 0 is the profile itself, 1 the one that it extends, and so on.
    let file: Int
    let place: Place

    package static func < (left: SourcePlace, right: SourcePlace) -> Bool {
        (left.file, left.place) < (right.file, right.place)
    }
}

/// Collects problems in any order, and keeps no more of them than will be listed.
package struct ProblemList {
    private struct Entry {
        let at: SourcePlace
        let problem: Problem
    }

    private var files: [String] = []
    private var entries: [Entry] = []
    /// The number of added problems, including those that won't be listed.
    private(set) var count = 0
    /// The place of the last problem that will be listed, once there are enough: none after it will.
    private var lastListed: SourcePlace?

    package var isEmpty: Bool { count == 0 }

    /// Adds a file, and gives the number that places in it carry.
    mutating func addFile(_ name: String) -> Int {
        files.append(name)
        return files.count - 1
    }

    /// Adds a problem. Its clauses are made only if it may be listed: a file can have many more problems than that.
    mutating func add(
        _ what: @autoclosure () -> String,
        remedy: @autoclosure () -> String,
        at place: SourcePlace,
        code: Problem.Code = .invalidValue
    ) {
        count += 1
        if let lastListed, place > lastListed { return }
        let problem = Problem(
            file: files[place.file],
            line: place.place.line,
            column: place.place.column,
            what: what(),
            remedy: remedy(),
            code: code
        )
        entries.append(Entry(at: place, problem: problem))
        if entries.count >= 4 * ProfileProblems.limit { keepFirst() }
    }

    package mutating func add(_ found: ProfileProblems) {
        for problem in found.problems {
            let file = files.firstIndex(of: problem.file) ?? addFile(problem.file)
            let place = SourcePlace(file: file, place: Place(line: problem.line, column: problem.column))
            add(problem.what, remedy: problem.remedy, at: place, code: problem.code)
        }
        count += found.omitted
    }

    /// The problems found, or `nil` when there is none.
    package func result() -> ProfileProblems? {
        guard !isEmpty else { return nil }
        var sorted = self
        sorted.keepFirst()
        return ProfileProblems(problems: sorted.entries.map(\.problem), omitted: count - sorted.entries.count)
    }

    private mutating func keepFirst() {
        // Found in the order of reading, so equal places keep theirs.
        let ordered = entries.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        entries = ordered.prefix(ProfileProblems.limit).map(\.element)
        if entries.count == ProfileProblems.limit { lastListed = entries.last?.at }
    }
}
