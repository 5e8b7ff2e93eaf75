import HTTPTransport
import SystemPackage
import TransferProtocol

/// Why an upload failed. No case contains the URL of the upload resource.
public enum UploadError: Error, Hashable, Sendable {
    /// The URL is invalid.
    case invalidURL(String, DownloadURLProblem)
    /// The TLS settings are invalid.
    case invalidTLSSettings(TLSSettingsProblem)
    /// The address of the proxy that the URL needs is invalid.
    case invalidProxy(ProxyProblem)
    /// TLS can't be established with this host.
    case tlsRefused(host: String, TLSFailure)
    /// The file can't be uploaded: the path, and why.
    case invalidSource(String, String)
    /// Another upload, in any process, sends the same content to the same URL.
    case locked(String)
    /// A file system call failed.
    case fileSystem(call: String, path: String, Errno)
    /// The given digest isn't 32 bytes long.
    case invalidDigest(count: Int)
    /// The SHA-256 of bytes in memory or of a stream isn't the request's.
    case digestDiffers(named: [UInt8], actual: [UInt8])
    /// The stream threw an error: its description.
    case streamFailed(String)
    /// The stream exceeds the maximum size.
    case streamTooLong(limit: Int64)
    /// The file changed during the upload: the path.
    case sourceChanged(String)
    /// The server refused permanently.
    case refused(UploadFailure)
    /// A limit of the retry policy was reached; the last failure.
    case gaveUp(RetryLimit, TransientUploadFailure)
    /// The server's digest isn't the file's.
    case digestMismatch(sent: [UInt8], received: [UInt8])
    /// The task was cancelled.
    case cancelled

    /// How the caller can react to this error.
    public var disposition: DownloadError.Disposition {
        switch self {
        case .invalidURL, .invalidTLSSettings, .invalidProxy, .invalidSource, .invalidDigest, .digestDiffers,
            .streamTooLong:
            .invalidInput
        case .locked, .gaveUp, .cancelled, .sourceChanged: .resumable
        case .refused, .tlsRefused, .digestMismatch, .streamFailed: .final
        case .fileSystem(let call, let path, let errno):
            DownloadError.fileSystem(call: call, path: path, errno).disposition
        }
    }

    init(_ error: DownloadError) {
        switch error {
        case .locked(let path): self = .locked(path)
        case .fileSystem(let call, let path, let errno): self = .fileSystem(call: call, path: path, errno)
        case .invalidURL(let url, let problem): self = .invalidURL(url, problem)
        case .invalidDestination(let path, let why): self = .invalidSource(path, why)
        case .invalidTLSSettings(let problem): self = .invalidTLSSettings(problem)
        case .invalidProxy(let problem): self = .invalidProxy(problem)
        case .invalidDigest(let count): self = .invalidDigest(count: count)
        default: self = .cancelled
        }
    }

    /// Runs file system calls and converts their errors.
    static func mapping<Value>(
        _ body: () async throws(DownloadError) -> Value
    ) async throws(UploadError) -> Value {
        do throws(DownloadError) {
            return try await body()
        } catch {
            throw UploadError(error)
        }
    }
}

extension UploadError: CustomStringConvertible {
    /// The error and its location.
    public var description: String {
        switch self {
        case .invalidURL(let url, let problem): Self.sentence(.invalidURL(url, problem))
        case .invalidTLSSettings(let problem): DownloadError.invalidTLSSettings(problem).description
        case .invalidProxy(let problem): DownloadError.invalidProxy(problem).description
        case .tlsRefused(let host, let failure): DownloadError.tlsRefused(host: host, failure).description
        case .invalidSource(let path, let why): "can't upload “\(path)”: \(why)"
        case .locked(let path):
            "another upload of this content to this URL is running (“\(path)” is locked)"
        case .fileSystem(let call, let path, let errno):
            DownloadError.fileSystem(call: call, path: path, errno).description
        case .invalidDigest(let count): "a SHA-256 has 32 bytes, and the named one has \(count)"
        case .digestDiffers(let named, let actual):
            "the content's SHA-256 is \(Self.hex(actual)), and \(Self.hex(named)) was named"
        case .streamFailed(let reason): "the stream failed: \(reason)"
        case .streamTooLong(let limit): "the stream has more than \(limit) bytes"
        case .sourceChanged(let path): "“\(path)” was changed while it was uploaded"
        case .refused(let failure): failure.description
        case .gaveUp(let limit, let cause):
            "\(limit.description), the last time because \(cause.description)"
        case .digestMismatch(let sent, let received):
            "the server took a file with the SHA-256 \(Self.hex(received)), and \(Self.hex(sent)) was sent"
        case .cancelled: "cancelled"
        }
    }

    private static func sentence(_ error: DownloadError) -> String {
        error.description.replacing("can't be downloaded", with: "can't be uploaded to")
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
