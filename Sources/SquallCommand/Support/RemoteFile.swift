import HTTPSemantics
import SquallTransfer
import SystemPackage

/// What a HEAD request tells of a file.
struct RemoteFile: Sendable {
    /// A usable name in `Content-Disposition`.
    var name: String?
    /// `Content-Length`; `nil` when it is absent or the response has a content coding.
    var length: Int64?
    /// `Last-Modified`, in seconds since 1970.
    var modified: Int64?

    /// Asks the server, with the redirects and credentials of `request`; `nil` when it answers with an error.
    ///
    /// - Throws: A `TransferError`, after `attempts` connections that failed.
    static func ask(for request: TransferRequest, by session: TransferSession, attempts: Int) async throws
        -> RemoteFile?
    {
        var request = request
        request.method = .head
        for attempt in 1... {
            do {
                return RemoteFile(try await session.data(for: request).response)
            } catch let error as TransferError where error.code == .connectionFailed && attempt < attempts {
                try await Task.sleep(for: min(Duration.seconds(30), .milliseconds(250) * (1 << min(attempt, 7))))
            }
        }
        return nil
    }

    private init?(_ response: TransferResponse) {
        guard (200..<300).contains(response.status) else { return nil }
        name = response.suggestedFileName
        if response.headers[.contentEncoding] == nil {
            length = response.headers[.contentLength].flatMap { ContentLength.parse($0) }
        }
        modified = response.lastModified
    }

    /// Whether the file at `path` has the server's length, and the server's has a date and isn't newer.
    func isComplete(at path: FilePath) -> Bool {
        guard let length, let status = try? path.stat(), status.type == .regular, status.size == length else {
            return false
        }
        return modified.map { $0 <= Int64(status.st_mtim.tv_sec) } ?? false
    }
}
