import FaultProfile

/// The files that a command has read, none of which it writes over.
final class InputFiles {
    private var paths: [String]

    init(_ paths: String...) { self.paths = paths }

    /// Notes the file of a source that was read.
    func noted<Problem>(_ source: Result<ProfileSource, Problem>) -> Result<ProfileSource, Problem> {
        if case .success(let source) = source { paths.append(source.file) }
        return source
    }

    /// Makes sure that writing `what` to `path` changes none of them, by whatever path.
    func check(writing what: String, to path: String) throws(CommandFailure) {
        guard let input = paths.first(where: { FileProblem.isSameFile(path, $0) }) else { return }
        throw .wrongInput("\(what) would be written over “\(input)”, which is read: name another file")
    }
}
