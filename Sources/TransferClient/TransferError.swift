import Digests
import HTTPTransport
import SystemPackage
import TransferProtocol
import Units

/// Why a transfer failed. Transferred bytes stay for the next run unless noted. No case contains the URL of an upload
/// resource.
public enum TransferError: Error, Hashable, Sendable {
    /// The URL is invalid.
    case invalidURL(String, TransferURLProblem)
    /// The TLS settings are invalid.
    case invalidTLSSettings(TLSSettingsProblem)
    /// The address of the proxy that the URL needs is invalid.
    case invalidProxy(ProxyProblem)
    /// TLS can't be established with this host.
    case tlsRefused(host: String, TLSFailure)
    /// The destination can't be written, or the source can't be read: the path, and why.
    case invalidFile(String, String)
    /// The given digest isn't 32 bytes long.
    case invalidDigest(count: Int)
    /// The credentials that the caller provided after a 401 can't be sent: why.
    case invalidCredentials(String)
    /// Another transfer, in any process, has this file locked: a partial file, or the journal of an upload.
    case locked(String)
    /// A file system call failed.
    case fileSystem(call: String, path: String, Errno)
    /// The server refused permanently.
    case refused(TransferRefusal)
    /// A limit of the retry policy was reached; the last failure.
    case gaveUp(RetryLimit, TransientFailure)
    /// The task was cancelled.
    case cancelled

    /// Too many redirects.
    case tooManyRedirections(Int)
    /// A redirect to an invalid URL: the `Location`, and why.
    case invalidRedirection(String, TransferURLProblem)
    /// The file started over more often than allowed; the last reason.
    case tooManyRestarts(Int, RestartReason)
    /// The complete file has the wrong digest, twice in a row or beyond doubt. It is moved to the path `file`, which is
    /// empty when unfinished files aren't kept.
    case digestMismatch(DigestSource, expected: [UInt8], actual: [UInt8], file: String)
    /// The file had the wrong digest by the server's account and came without a digest when fetched again. It is moved
    /// to the path `file`, which is empty when unfinished files aren't kept.
    case digestMissing(file: String)
    /// The file is complete as far as HTTP can tell, but the request requires proof. Received bytes are removed if the
    /// reason casts doubt on them; otherwise they stay.
    case unproved(UnverifiedReason)

    /// The SHA-256 of bytes in memory or of a stream isn't the request's.
    case digestDiffers(named: [UInt8], actual: [UInt8])
    /// The stream threw an error: its description.
    case streamFailed(String)
    /// The stream exceeds the maximum size.
    case streamTooLong(limit: Int64)
    /// The file changed during the upload: the path.
    case sourceChanged(String)
    /// The server's digest isn't that of the uploaded file.
    case digestRejected(sent: [UInt8], received: [UInt8])
}

extension TransferError {
    /// Whether no file can have the path: a name is too long, or links lead in a circle.
    package var isOfPath: Bool {
        switch self {
        case .fileSystem(_, _, .fileNameTooLong), .fileSystem(_, _, .tooManySymbolicLinkLevels): true
        default: false
        }
    }
}

extension TransferError {
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
        case .invalidURL, .invalidTLSSettings, .invalidProxy, .invalidFile, .invalidDigest, .invalidCredentials,
            .digestDiffers, .streamTooLong:
            .invalidInput
        case .locked, .gaveUp, .tooManyRestarts, .cancelled, .sourceChanged: .resumable
        case .refused, .tlsRefused, .tooManyRedirections, .invalidRedirection, .digestMismatch, .digestMissing,
            .unproved, .digestRejected, .streamFailed:
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

    /// The kind of failure, for programs.
    package var code: TransferFailureCode {
        switch self {
        case .invalidURL: .invalidURL
        case .invalidTLSSettings: .invalidTLSSettings
        case .tlsRefused: .tlsRefused
        case .invalidFile: .invalidFile
        case .invalidDigest, .invalidCredentials, .digestDiffers, .invalidProxy: .invalidRequest
        case .locked: .locked
        case .fileSystem: .fileSystem
        case .refused(.unauthorized): .unauthorized
        case .refused(.redirection), .tooManyRedirections, .invalidRedirection: .redirection
        case .refused: .refused
        case .gaveUp: .gaveUp
        case .tooManyRestarts: .tooManyRestarts
        case .digestMismatch, .digestMissing, .digestRejected: .digestMismatch
        case .unproved: .unproved
        case .streamFailed: .streamFailed
        case .streamTooLong: .tooLong
        case .sourceChanged: .fileChanged
        case .cancelled: .cancelled
        }
    }

    /// The status of the response that ended the transfer, if any.
    public var status: Int? { if case .refused(let refusal) = self { refusal.status } else { nil } }

    /// Whether the same transfer can be resumed, as it is, with other credentials, or once the server lets it.
    public var isResumable: Bool {
        switch self {
        case .refused(.unauthorized), .refused(.uploadRefused): true
        default: disposition == .resumable
        }
    }
}

extension TransferError: CustomStringConvertible {
    /// The error and its location.
    public var description: String {
        switch self {
        case .invalidURL(let url, let problem): "\(Self.shown(url)) can't be requested: \(problem)"
        case .invalidTLSSettings(let problem): "the settings for TLS can't be used: \(problem)"
        case .invalidProxy(let problem): "in http_proxy, https_proxy or all_proxy: \(problem)"
        case .tlsRefused(let host, let failure):
            "can't talk to “\(host.shortened(to: Self.shownCharacters))” by TLS: \(failure)"
        case .invalidFile(let path, let why): "can't transfer “\(path)”: \(why)"
        case .invalidDigest(let count): "a SHA-256 has 32 bytes, and the given one has \(count)"
        case .invalidCredentials(let why): why
        case .locked(let path): "another transfer has locked “\(path)”"
        case .fileSystem(let call, let path, let errno): "\(call)(\(path)): \(errno) (errno \(errno.rawValue))"
        case .refused(let refusal): refusal.description
        case .gaveUp(let limit, let cause): "\(limit), the last time because \(cause)"
        case .cancelled: "cancelled"
        case .tooManyRedirections(let count): "the server redirected more than \(count) times"
        case .invalidRedirection(let location, let problem):
            "the server redirected to \(Self.shown(location)): \(problem)"
        case .tooManyRestarts(let count, let reason): "started over \(count) times, the last time because \(reason)"
        case .digestMismatch(let source, let expected, let actual, let file):
            "the file's SHA-256 is \(actual.hexadecimal), and \(source.expectation) \(expected.hexadecimal)"
                + Self.place(file)
        case .digestMissing(let file):
            "the file's SHA-256 wasn't the one that the server said, and fetched again it came without any"
                + Self.place(file)
        case .unproved(let reason): "the file is complete as far as HTTP can tell, and not proved: \(reason)"
        case .digestDiffers(let named, let actual):
            "the content's SHA-256 is \(actual.hexadecimal), and \(named.hexadecimal) was named"
        case .streamFailed(let reason): "the stream failed: \(reason)"
        case .streamTooLong(let limit): "the stream has more than \(limit) bytes"
        case .sourceChanged(let path): "“\(path)” was changed while it was uploaded"
        case .digestRejected(let sent, let received):
            "the server took a file with the SHA-256 \(received.hexadecimal), and \(sent.hexadecimal) was sent"
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
}

extension DigestSource {
    /// Names the source of the other digest.
    fileprivate var expectation: String {
        switch self {
        case .server: "the server says"
        case .caller: "the digest asked for is"
        }
    }
}

/// A kind of failure, for programs: the codes of `SquallTransfer`. Raw values are stable; others may be added.
package enum TransferFailureCode: String, CaseIterable, Hashable, Sendable {
    case invalidURL = "invalid-url"
    case invalidRequest = "invalid-request"
    case invalidTLSSettings = "invalid-tls-settings"
    case invalidFile = "invalid-file"
    case tlsRefused = "tls-refused"
    case locked
    case fileSystem = "file-system"
    case refused
    case unauthorized
    case redirection
    case gaveUp = "gave-up"
    case tooManyRestarts = "too-many-restarts"
    case digestMismatch = "digest-mismatch"
    case unproved
    case fileChanged = "file-changed"
    case streamFailed = "stream-failed"
    case tooLong = "too-long"
    case cancelled
}
