import FaultProfile
import Units

/// Problems as a JSON list.
package enum ProblemJSON {
    /// A list with an object of the keys `file`, `line`, `column`, `path`, `message`, `suggestion` and `code` for each
    /// problem, a line each. `path` is a JSON Pointer (RFC 6901) into the file. `line`, `column` and `path` are null where
    /// a problem is about the file as a whole, and `path` also where the file isn't JSON.
    package static func text(of problems: [Problem]) -> String {
        var documents: [String: JSONNode?] = [:]
        let objects = problems.map { problem in
            let document = documents[problem.file] ?? document(at: problem.file)
            documents[problem.file] = .some(document)
            return "  " + object(of: problem, in: document).compact.visibleJSON
        }
        return objects.isEmpty ? "[]" : "[\n\(objects.joined(separator: ",\n"))\n]"
    }

    private static func object(of problem: Problem, in document: JSONNode?) -> JSONText {
        let pointer = document?.pointer(toLine: problem.line, column: problem.column)
        return .object([
            ("file", .text(problem.file)),
            ("line", position(problem.line)),
            ("column", position(problem.column)),
            ("path", pointer.map(JSONText.text) ?? .null),
            ("message", .text(problem.what)),
            ("suggestion", .text(problem.remedy)),
            ("code", .text(problem.code.rawValue)),
        ])
    }

    private static func position(_ number: Int) -> JSONText { number > 0 ? .number(UInt64(number)) : .null }

    /// The value of a file, or of standard input; `nil` if it can't be read or isn't JSON.
    private static func document(at path: String) -> JSONNode? {
        let source = path == StandardInput.name ? StandardInput.readable : try? ProfileLibrary.read(path).get()
        guard let source else { return nil }
        return try? ProfileReader.document(source, limit: ProfileLimits.fileBytes)
    }
}
