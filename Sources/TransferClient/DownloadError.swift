import SystemPackage
import TransferProtocol

/// Why a download didn't come to its end. What was received stays beside the destination unless said otherwise.
public enum DownloadError: Error, Hashable, Sendable {
    /// The URL can't be used.
    case invalidURL(String, DownloadURLProblem)
    /// The URL asks for TLS, which this version doesn't speak.
    case tlsUnsupported(String)
    /// The destination can't be a file: the path, and why.
    case invalidDestination(String, String)
    /// The expected digest hasn't 32 bytes, but so many.
    case invalidDigest(count: Int)
    /// Another download, in this process or another, writes to the same destination: the path of its partial file.
    case locked(String)
    /// A call to the file system failed.
    case fileSystem(call: String, path: String, Errno)
    /// The server refused, and would again.
    case refused(DownloadFailure)
    /// More redirections than are followed.
    case tooManyRedirections(Int)
    /// A redirection to a URL that can't be used: the `Location`, and why.
    case invalidRedirection(String, DownloadURLProblem)
    /// A limit of the retry policy is reached; the last setback.
    case gaveUp(RetryLimit, DownloadSetback)
    /// The file started over more often than allowed; the last reason.
    case tooManyRestarts(Int, DownloadRestartReason)
    /// The complete file is a wrong one, twice in a row or for certain. What was received is removed.
    case digestMismatch(DownloadVerification, expected: [UInt8], actual: [UInt8])
    /// The task was cancelled.
    case cancelled

    /// What the caller can make of an error.
    public enum Disposition: Hashable, Sendable {
        /// It failed for now; the same call goes on where this one stopped. The command exits with 75.
        case resumable
        /// It fails again, unless something is changed. The command exits with 1.
        case final
        /// The call itself was wrong. The command exits with 2.
        case invalidInput
    }

    /// What the caller can make of this error.
    public var disposition: Disposition {
        switch self {
        case .invalidURL, .tlsUnsupported, .invalidDestination, .invalidDigest: .invalidInput
        case .locked, .gaveUp, .tooManyRestarts, .cancelled: .resumable
        case .refused, .tooManyRedirections, .invalidRedirection, .digestMismatch: .final
        case .fileSystem(_, _, let errno):
            switch errno {
            case .noSpace, .diskQuotaExceeded, .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory: .resumable
            case .noSuchFileOrDirectory, .notDirectory, .permissionDenied, .fileNameTooLong, .readOnlyFileSystem,
                .isDirectory, .tooManySymbolicLinkLevels:
                .invalidInput
            default: .final
            }
        }
    }
}

extension DownloadError: CustomStringConvertible {
    /// What went wrong, where, and what to do about it.
    public var description: String {
        switch self {
        case .invalidURL(let url, let problem): "“\(url)” can't be downloaded: \(problem.description)"
        case .tlsUnsupported(let url):
            "“\(url)” needs TLS, which comes with a later version; use an http:// URL"
        case .invalidDestination(let path, let why): "can't download to “\(path)”: \(why)"
        case .invalidDigest(let count): "a SHA-256 has 32 bytes, and the expected one has \(count)"
        case .locked(let path):
            "another download is writing “\(path)”; wait for it, or choose another destination"
        case .fileSystem(let call, let path, let errno):
            "\(call)(\(path)): \(errno) (errno \(errno.rawValue))\(Self.advice(for: errno))"
        case .refused(let failure): failure.description
        case .tooManyRedirections(let count): "the server redirected more than \(count) times; check the URL"
        case .invalidRedirection(let location, let problem):
            "the server redirected to “\(location)”: \(problem.description)"
        case .gaveUp(let limit, let setback):
            "\(limit.description), the last time because \(setback.description); run it again to continue"
        case .tooManyRestarts(let count, let reason):
            "started over \(count) times, the last time because \(reason.description); run it again later"
        case .digestMismatch(let source, let expected, let actual):
            "the file's SHA-256 is \(Self.hex(actual)), and \(source.rawValue) says \(Self.hex(expected)); "
                + "the file was removed"
        case .cancelled: "cancelled; run it again to continue"
        }
    }

    private static func advice(for errno: Errno) -> String {
        switch errno {
        case .noSpace, .diskQuotaExceeded: "; make room and run it again to continue"
        default: ""
        }
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
