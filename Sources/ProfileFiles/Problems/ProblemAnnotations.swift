import FaultProfile
import Units

/// Problems as workflow commands of GitHub Actions.
package enum ProblemAnnotations {
    /// An `::error` line for each problem, a `::warning` for a doubtful part, with file, line and column; empty without problems.
    package static func text(of problems: [Problem]) -> String {
        problems.map { problem in
            let file = problem.file.hasPrefix("./") ? String(problem.file.dropFirst(2)) : problem.file
            var properties = ["file=\(property(file))"]
            if problem.line > 0 { properties += ["line=\(problem.line)", "col=\(problem.column)"] }
            properties.append("title=\(property(problem.code.rawValue))")
            let command = problem.code == .doubtful ? "warning" : "error"
            return "::\(command) \(properties.joined(separator: ","))::\(data("\(problem.what) (\(problem.remedy))"))"
        }.joined(separator: "\n")
    }

    /// The text of a workflow command, escaped as the runner unescapes it.
    private static func data(_ text: String) -> String {
        escaped(text, ["%": "%25", "\r": "%0D", "\n": "%0A"])
    }

    /// A property of a workflow command, escaped as the runner unescapes it.
    private static func property(_ text: String) -> String {
        escaped(text, ["%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"])
    }

    private static func escaped(_ text: String, _ table: [Unicode.Scalar: String]) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in result += table[scalar] ?? String(scalar) }
    }
}
