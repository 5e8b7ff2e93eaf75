import ArgumentParser
import CommandParsing
import FaultProfile
import ProfileFiles
import Units

/// How `squall check` writes the problems that it finds.
enum CheckFormat: String, ExpressibleByArgument, CaseIterable {
    /// A line for each problem on standard error, and one for each profile without any on standard output.
    case text
    /// A list of objects.
    case json
    /// Workflow commands of GitHub Actions, which annotate the lines of a pull request.
    case github
    /// SARIF 2.1.0, for GitHub's code scanning and other viewers of static analysis.
    case sarif

    /// The problems as this format has them on standard output.
    func report(_ problems: [Problem]) -> String {
        switch self {
        case .text: problems.map(\.description).joined(separator: "\n")
        case .json: ProblemJSON.text(of: problems)
        case .github: ProblemAnnotations.text(of: problems)
        case .sarif: ProblemSARIF.text(of: problems, version: Version.current)
        }
    }
}
