import Glibc

/// A file that is written beside its destination and renamed when complete.
public struct FileReplacement: Sendable {
    /// The writer of the file's lines.
    public let writer: LineWriter
    private let places: Places

    /// The path at which the file is written, for a program that writes it in place of `writer`.
    public var partial: String { places.partial }

    /// The paths of a replacement.
    public struct Places: Sendable {
        /// The destination.
        public let target: String
        /// The temporary file, `.NAME.squall-part` in the same folder; the destination itself if that is no regular file.
        public let partial: String

        /// The paths for a file at `path`; symbolic links are followed.
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

    /// Starts writing a file for `path`; `whenWaiting` is that of `LineWriter`.
    ///
    /// - Throws: `SystemError` of `LineWriter`.
    public init(of path: String, whenWaiting: () -> Void = {}) throws(SystemError) {
        places = Places(path)
        writer = try LineWriter(path: places.partial, whenWaiting: whenWaiting)
    }

    /// Renames the file to its destination, with the permissions of the old file; does nothing if the file is incomplete.
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

    /// Discards the file and keeps the destination.
    public func discard() {
        if places.partial != places.target { unlink(places.partial) }
    }
}
