import HTTPSemantics
import HTTPTypes
import Synchronization
import SystemPackage
import TransferProtocol

/// What a HEAD request tells of a file.
package struct RemoteFile: Sendable {
    /// A usable name in `Content-Disposition`.
    package var name: String?
    /// `Content-Length`; `nil` when it is absent or the response has a content coding.
    package var length: Int64?
    /// `Last-Modified`.
    package var modified: HTTPDate?

    /// Asks the server, with the redirects and credentials of `request`; `nil` when it answers with an error.
    ///
    /// - Throws: A `TransferError`, after `attempts` connections that failed.
    package static func ask(
        for request: DownloadRequest,
        by client: TransferEngine,
        attempts: Int
    ) async throws(TransferError) -> RemoteFile? {
        let head = SingleRequest(
            method: .head,
            url: request.url,
            fields: [.accept: "*/*", .acceptEncoding: "identity", .userAgent: "squall"],
            credentials: request.credentials,
            body: nil
        )
        for attempt in 1... {
            let told = Mutex<RemoteFile?>(nil)
            do throws(TransferError) {
                try await client.send(
                    head,
                    onHead: { (response) async throws(TransferError) in told.withLock { $0 = RemoteFile(response) } },
                    onBody: { (_) async throws(TransferError) in false }
                )
                return told.withLock { $0 }
            } catch .gaveUp where attempt < attempts && told.withLock({ $0 == nil }) {
                let wait = min(Duration.seconds(30), .milliseconds(250) * (1 << min(attempt, 7)))
                guard (try? await Task.sleep(for: wait)) != nil else { throw .cancelled }
            } catch .gaveUp where told.withLock({ $0 != nil }) {
                return told.withLock { $0 }
            } catch {
                throw error
            }
        }
        return nil
    }

    private init?(_ response: ResponseHead) {
        guard (200..<300).contains(response.status) else { return nil }
        let head = DownloadResponseHead(status: response.status, fields: response.fields)
        name = response.fields[.contentDisposition].flatMap { ContentDisposition.fileName($0) }
        length = head.contentEncoding == nil ? head.contentLength : nil
        modified = response.fields[.lastModified].flatMap { HTTPDate($0) }
    }

    /// Whether the file at `path` has the server's length, and the server's isn't newer.
    package func isComplete(at path: FilePath) -> Bool {
        guard let length, let status = try? path.stat(), status.type == .regular, status.size == length else {
            return false
        }
        return (modified?.secondsSinceEpoch).map { $0 <= Int64(status.st_mtim.tv_sec) } ?? true
    }
}
