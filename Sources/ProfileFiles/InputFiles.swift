import FaultProfile
import TerminalDisplay

/// The files that a command reads, which its outputs don't overwrite. No output overwrites another one.
package final class InputFiles {
    private var paths: [String]
    /// What has been checked, with its path.
    private var outputs: [(what: String, path: String)] = []
    /// The requested files, readable or not.
    package private(set) var wanted: [String] = []

    package init(_ paths: String...) { self.paths = paths }

    /// Notes the file of a reference, and that of its source if it was read.
    package func noted<Problem>(
        _ reference: ProfileReference,
        _ source: Result<ProfileSource, Problem>
    ) -> Result<ProfileSource, Problem> {
        if let file = (try? source.get().file) ?? reference.path { wanted.append(file) }
        return noted(source)
    }

    /// Notes a file that was read.
    package func note(_ path: String) { paths.append(path) }

    /// Notes the files of options, those that are given.
    package func note(_ options: [String?]) { paths += options.compactMap(\.self) }

    /// Notes the file of a source that was read.
    package func noted<Problem>(_ source: Result<ProfileSource, Problem>) -> Result<ProfileSource, Problem> {
        if case .success(let source) = source { paths.append(source.file) }
        return source
    }

    /// Checks that writing `what` to `path` overwrites none of them, no file that an output of this process goes to, and
    /// nothing else that was checked, whatever path is used. Does nothing without a path.
    package func check(writing what: String, to path: String?) throws(CommandFailure) {
        guard let path else { return }
        if let input = paths.first(where: { FileProblem.isSameFile(path, $0) }) {
            throw .wrongInput("\(what) would be written over “\(input)”, which is read: name another file")
        }
        if let output = FileProblem.standardOutput(at: path) {
            throw .wrongInput(
                "\(what) would be written over “\(path)”, which is this command's own \(output): name another file"
            )
        }
        let other = outputs.first { $0.what != what && FileProblem.isSamePlace(path, $0.path) }
        if let other, FileProblem.isReplaced(path) {
            throw .wrongInput("“\(path)” is named twice, for \(other.what) and \(what): name another file")
        }
        outputs.append((what, path))
    }
}
