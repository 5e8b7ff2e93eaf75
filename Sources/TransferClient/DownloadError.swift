import HTTPTransport
import SystemPackage
import TransferProtocol
import Units

/// Why a download didn't come to its end. What was received stays beside the destination unless said otherwise.
public enum DownloadError: Error, Hashable, Sendable {
    /// The URL can't be used.
    case invalidURL(String, DownloadURLProblem)
    /// The settings for TLS can't be used.
    case invalidTLSSettings(TLSSettingsProblem)
    /// There is no way to talk to a server by TLS: its host, and why.
    case tlsRefused(host: String, TLSFailure)
    /// The destination can't be a file: the path, and why.
    case invalidDestination(String, String)
    /// The expected digest has another length than 32 bytes.
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
    /// The complete file is a wrong one, twice in a row or for certain. It is moved aside: `file` is its path, which is
    /// empty where nothing unfinished is kept.
    case digestMismatch(DownloadVerification, expected: [UInt8], actual: [UInt8], file: String)
    /// The complete file was a wrong one by the server's digest, and came again without a digest. It is moved aside: `file` is
    /// its path, which is empty where nothing unfinished is kept.
    case digestMissing(file: String)
    /// The file is complete as far as HTTP can tell, and the request demands a proof. What was received is removed if the
    /// doubt is a suspicion, else it stays.
    case unproved(DownloadDoubt)
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
        case .invalidURL, .invalidTLSSettings, .invalidDestination, .invalidDigest: .invalidInput
        case .locked, .gaveUp, .tooManyRestarts, .cancelled: .resumable
        case .refused, .tlsRefused, .tooManyRedirections, .invalidRedirection, .digestMismatch, .digestMissing,
            .unproved:
            .final
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
    /// What went wrong, and where.
    public var description: String {
        switch self {
        case .invalidURL(let url, let problem): "\(Self.shown(url)) can't be downloaded: \(problem.description)"
        case .invalidTLSSettings(let problem): "the settings for TLS can't be used: \(problem)"
        case .tlsRefused(let host, let failure):
            "can't talk to “\(host.shortened(to: Self.shownCharacters))” by TLS: \(failure)"
        case .invalidDestination(let path, let why): "can't download to “\(path)”: \(why)"
        case .invalidDigest(let count): "a SHA-256 has 32 bytes, and the expected one has \(count)"
        case .locked(let path): "another download is writing “\(path)”"
        case .fileSystem(let call, let path, let errno): "\(call)(\(path)): \(errno) (errno \(errno.rawValue))"
        case .refused(let failure): failure.description
        case .tooManyRedirections(let count): "the server redirected more than \(count) times"
        case .invalidRedirection(let location, let problem):
            "the server redirected to \(Self.shown(location)): \(problem.description)"
        case .gaveUp(let limit, let setback): "\(limit.description), the last time because \(setback.description)"
        case .tooManyRestarts(let count, let reason):
            "started over \(count) times, the last time because \(reason.description)"
        case .digestMismatch(let source, let expected, let actual, let file):
            "the file's SHA-256 is \(Self.hex(actual)), and \(source.expectation) \(Self.hex(expected))"
                + Self.place(file)
        case .digestMissing(let file):
            "the file's SHA-256 wasn't the one that the server said, and fetched again it came without any"
                + Self.place(file)
        case .unproved(let doubt): "the file is complete as far as HTTP can tell, and not proved: \(doubt.description)"
        case .cancelled: "cancelled"
        }
    }

    /// The characters of a URL that a person is shown; what is longer is cut.
    public static let shownCharacters = 200

    /// A URL on one line between quotes, without what stands in front of an `@`, for that may be a password.
    private static func shown(_ url: String) -> String {
        var shown = url
        if let sign = url.unicodeScalars.lastIndex(of: "@") {
            let scheme = ["http://", "https://"].first { url.lowercased().hasPrefix($0) } ?? ""
            shown = "\(scheme)…\(url[sign...])"
        }
        return "“\(shown.shortened(to: shownCharacters))”"
    }

    /// Where a wrong file lies, as the end of a sentence.
    private static func place(_ file: String) -> String { file.isEmpty ? "" : "; the file lies in “\(file)”" }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension DownloadVerification {
    /// Whose other digest it is, in front of that.
    fileprivate var expectation: String {
        switch self {
        case .server: "the server says"
        case .caller: "the digest asked for is"
        }
    }
}
