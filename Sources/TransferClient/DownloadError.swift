import HTTPTransport
import SystemPackage
import TransferProtocol
import Units

/// Why a download failed. Received bytes stay next to the destination unless noted.
public enum DownloadError: Error, Hashable, Sendable {
    /// The URL is invalid.
    case invalidURL(String, DownloadURLProblem)
    /// The TLS settings are invalid.
    case invalidTLSSettings(TLSSettingsProblem)
    /// The address of the proxy that the URL needs is invalid.
    case invalidProxy(ProxyProblem)
    /// TLS can't be established with this host.
    case tlsRefused(host: String, TLSFailure)
    /// The destination can't be a file: the path, and why.
    case invalidDestination(String, String)
    /// The expected digest isn't 32 bytes long.
    case invalidDigest(count: Int)
    /// Another download, in any process, writes to the same destination: the path of its partial file.
    case locked(String)
    /// A file system call failed.
    case fileSystem(call: String, path: String, Errno)
    /// The server refused permanently.
    case refused(DownloadFailure)
    /// Too many redirects.
    case tooManyRedirections(Int)
    /// A redirect to an invalid URL: the `Location`, and why.
    case invalidRedirection(String, DownloadURLProblem)
    /// A limit of the retry policy was reached; the last failure.
    case gaveUp(RetryLimit, TransientDownloadFailure)
    /// The file started over more often than allowed; the last reason.
    case tooManyRestarts(Int, DownloadRestartReason)
    /// The complete file has the wrong digest, twice in a row or beyond doubt. It is moved to the path `file`, which is
    /// empty when unfinished files aren't kept.
    case digestMismatch(DownloadVerification, expected: [UInt8], actual: [UInt8], file: String)
    /// The file had the wrong digest by the server's account and came without a digest when fetched again. It is moved
    /// to the path `file`, which is empty when unfinished files aren't kept.
    case digestMissing(file: String)
    /// The file is complete as far as HTTP can tell, but the request requires proof. Received bytes are removed if the
    /// reason casts doubt on them; otherwise they stay.
    case unproved(UnverifiedReason)
    /// The task was cancelled.
    case cancelled

    /// How the caller can react to an error.
    public enum Disposition: Hashable, Sendable {
        /// Failed for now; the same call resumes. The command exits with 75.
        case resumable
        /// Fails again unless something changes. The command exits with 1.
        case final
        /// The call was invalid. The command exits with 2.
        case invalidInput
    }

    /// How the caller can react to this error.
    public var disposition: Disposition {
        switch self {
        case .invalidURL, .invalidTLSSettings, .invalidProxy, .invalidDestination, .invalidDigest: .invalidInput
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
    /// The error and its location.
    public var description: String {
        switch self {
        case .invalidURL(let url, let problem): "\(Self.shown(url)) can't be downloaded: \(problem.description)"
        case .invalidTLSSettings(let problem): "the settings for TLS can't be used: \(problem)"
        case .invalidProxy(let problem): "in http_proxy, https_proxy or all_proxy: \(problem)"
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
        case .gaveUp(let limit, let cause): "\(limit.description), the last time because \(cause.description)"
        case .tooManyRestarts(let count, let reason):
            "started over \(count) times, the last time because \(reason.description)"
        case .digestMismatch(let source, let expected, let actual, let file):
            "the file's SHA-256 is \(Self.hex(actual)), and \(source.expectation) \(Self.hex(expected))"
                + Self.place(file)
        case .digestMissing(let file):
            "the file's SHA-256 wasn't the one that the server said, and fetched again it came without any"
                + Self.place(file)
        case .unproved(let unverifiedReason):
            "the file is complete as far as HTTP can tell, and not proved: \(unverifiedReason.description)"
        case .cancelled: "cancelled"
        }
    }

    /// The maximum number of URL characters shown; longer ones are truncated.
    public static let shownCharacters = 200

    /// A quoted URL on one line, without anything before an `@`, which may be a password.
    private static func shown(_ url: String) -> String {
        var shown = url
        if let sign = url.unicodeScalars.lastIndex(of: "@") {
            let scheme = ["http://", "https://"].first { url.lowercased().hasPrefix($0) } ?? ""
            shown = "\(scheme)…\(url[sign...])"
        }
        return "“\(shown.shortened(to: shownCharacters))”"
    }

    /// The location of a wrong file, as the end of a sentence.
    private static func place(_ file: String) -> String { file.isEmpty ? "" : "; the file lies in “\(file)”" }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension DownloadVerification {
    /// Names the source of the other digest.
    fileprivate var expectation: String {
        switch self {
        case .server: "the server says"
        case .caller: "the digest asked for is"
        }
    }
}
