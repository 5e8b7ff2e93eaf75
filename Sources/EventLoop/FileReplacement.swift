import Glibc

/// A file that is written beside the one whose place it takes once it is whole, so that what is there stays until then.
public struct FileReplacement: Sendable {
    /// Where the lines of the file go.
    public let writer: LineWriter
    private let places: Places

    /// Where a file lies.
    public struct Places: Sendable {
        /// Where it is in the end.
        public let target: String
        /// Where it grows: `.NAME.squall-part` in the same folder; what is there and no file, as a pipe, is written itself.
        public let partial: String

        /// The places for the file at `path`, or where a link there leads.
        public init(_ path: String) {
            target = Places.resolved(path)
            partial = Places.isFileOrNothing(target) ? Places.beside(target) : target
        }

        private static func isFileOrNothing(_ path: String) -> Bool {
            var facts = stat()
            return stat(path, &facts) != 0 || facts.st_mode & S_IFMT == S_IFREG
        }

        private static func beside(_ path: String) -> String {
            let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
            return "\(path[..<name]).\(path[name...]).squall-part"
        }

        private static func resolved(_ path: String) -> String {
            guard let resolved = realpath(path, nil) else { return path }
            defer { free(resolved) }
            return String(cString: resolved)
        }
    }

    /// Begins a file that is to be at `path`; `whenWaiting` is that of a `LineWriter`.
    ///
    /// - Throws: the `SystemError` of a `LineWriter` beside it.
    public init(of path: String, whenWaiting: () -> Void = {}) throws(SystemError) {
        places = Places(path)
        writer = try LineWriter(path: places.partial, whenWaiting: whenWaiting)
    }

    /// Puts the file into its place, with the permissions of what was there, or leaves that as it was if the file isn't
    /// whole.
    public func commit() throws(SystemError) {
        let (dropped, failure) = writer.flush()
        do throws(SystemError) {
            if let failure { throw failure }
            if dropped > 0 { throw SystemError(call: "write", code: ENOBUFS) }
            guard places.partial != places.target else { return }
            var before = stat()
            if stat(places.target, &before) == 0, chmod(places.partial, before.st_mode & 0o777) != 0 {
                throw .last("chmod")
            }
            if rename(places.partial, places.target) != 0 { throw .last("rename") }
        } catch {
            discard()
            throw error
        }
    }

    /// Leaves what was in the place of the file as it was.
    public func discard() {
        if places.partial != places.target { unlink(places.partial) }
    }
}
