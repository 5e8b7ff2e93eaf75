import FaultProfile

/// The files that a command has read, none of which it writes over.
final class InputFiles {
    private var paths: [String]
    /// The files that were asked for, whether they could be read or not.
    private(set) var wanted: [String] = []

    init(_ paths: String...) { self.paths = paths }

    /// Notes the file that a reference leads to, and the one of its source if it was read.
    func noted<Problem>(
        _ reference: ProfileReference,
        _ source: Result<ProfileSource, Problem>
    ) -> Result<ProfileSource, Problem> {
        switch (reference, source) {
        case (_, .success(let source)): wanted.append(source.file)
        case (.path(let path), .failure), (.trace(let path), .failure): wanted.append(path)
        case (.shipped, .failure): break
        }
        return noted(source)
    }

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
