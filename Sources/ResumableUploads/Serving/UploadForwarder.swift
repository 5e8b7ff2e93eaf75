import HTTPTypes
import NIOCore
import NIOPosix
import Synchronization
import TransferProtocol

/// Passes each upload to a handler as one request, and keeps its response. Nothing is stored on disk: acknowledged
/// content is valid until the process ends.
final class UploadForwarder: UploadBackend {
    private let handler: ResumableUploadServer.Handler
    private let maximumResponseBytes: Int
    private let uploads = Mutex<[UploadToken: Forwarded]>([:])
    /// The tasks of removed uploads, until they have returned.
    private let cancelled = Mutex<[UploadToken: Task<Void, Never>]>([:])
    private let service = Mutex<UploadService?>(nil)
    /// Commands run here, so that no result is delivered before `perform` returns.
    private let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()

    private struct Forwarded {
        var head: HTTPRequest
        var channel: any Channel
        let pipe = UploadPipe()
        var task: Task<Void, Never>?
        var response: UploadResponse?
        /// Receives the result of `finish`, once there is a response.
        var finishCallback: (@Sendable (UploadStoreResult) -> Void)?
    }

    init(maximumResponseBytes: Int, _ handler: @escaping ResumableUploadServer.Handler) {
        self.maximumResponseBytes = maximumResponseBytes
        self.handler = handler
    }

    /// Reports early responses to `service`, until `shutDown`.
    func attach(_ service: UploadService) { self.service.withLock { $0 = service } }

    func prepare(_ token: UploadToken, _ head: HTTPRequest, _ channel: any Channel) {
        uploads.withLock { $0[token] = Forwarded(head: head, channel: channel) }
    }

    func whenRead(_ token: UploadToken, _ body: @escaping @Sendable () -> Void) {
        uploads.withLock { $0[token]?.pipe }?.whenRead(body)
    }

    func forget(_ token: UploadToken) { _ = uploads.withLock { $0.removeValue(forKey: token) } }

    /// Cancels the handler without waiting for it: it may ignore cancellation.
    func abandon(_ token: UploadToken) {
        loop.execute { [self] in
            let (upload, done) = uploads.withLock { uploads in
                let done = uploads[token]?.finishCallback
                uploads[token]?.finishCallback = nil
                return (uploads[token], done)
            }
            end(upload)
            done?(.failed(.lost))
        }
    }

    func perform(
        _ command: UploadStoreCommand,
        for token: UploadToken,
        then done: @escaping @Sendable (UploadStoreResult) -> Void
    ) {
        loop.execute { [self] in
            switch command {
            case .create(let record, _):
                // The upload's URL is announced before any response of the handler.
                done(.done)
                begin(token, length: record.length)
            case .append(let bytes, _):
                let (pipe, isResolved) = uploads.withLock { ($0[token]?.pipe, $0[token]?.response != nil) }
                guard let pipe, !isResolved else { return done(.done) }
                pipe.offer(ByteBuffer(bytes: bytes)) { [loop] in loop.execute { done(.done) } }
            case .checkpoint, .release: done(.done)
            case .finish: finish(token, done)
            case .restore: done(.failed(.lost))
            case .remove:
                let upload = uploads.withLock { uploads in
                    let upload = uploads.removeValue(forKey: token)
                    if upload?.response == nil { cancelled.withLock { $0[token] = upload?.task } }
                    return upload
                }
                end(upload)
                done(.done)
            }
        }
    }

    /// Starts the handler.
    private func begin(_ token: UploadToken, length: Int64?) {
        uploads.withLock { uploads in
            guard let upload = uploads[token] else { return }
            let request = UploadedRequest(
                head: Self.head(upload.head, length: length),
                body: UploadBody(pipe: upload.pipe),
                channel: upload.channel
            )
            uploads[token]?.task = Task { [self] in
                let response = await response(to: request)
                upload.pipe.cancel()
                responded(token, response)
                cancelled.withLock { $0[token] = nil }
            }
        }
    }

    private func response(to request: UploadedRequest) async -> UploadResponse {
        do {
            let response = try await handler(request)
            let status = response.head.status.code
            guard (200...599).contains(status), response.content.readableBytes <= maximumResponseBytes else {
                return .message(500, "The response is no final one, or too long.")
            }
            var fields = response.head.headerFields
            for name in [HTTPField.Name.contentLength, .transferEncoding, .connection] { fields[name] = nil }
            return UploadResponse(status, fields, content: Array(response.content.readableBytesView))
        } catch {
            return .message(500, "The upload failed.")
        }
    }

    private func responded(_ token: UploadToken, _ response: UploadResponse) {
        let (done, isKept) = uploads.withLock { uploads in
            uploads[token]?.response = response
            let done = uploads[token]?.finishCallback
            uploads[token]?.finishCallback = nil
            return (done, uploads[token] != nil)
        }
        if let done {
            done(.responded(response))
        } else if isKept {
            // Behind the chunks that the handler has read.
            loop.execute { [self] in service.withLock { $0 }?.handle(.responded(token, response)) }
        }
    }

    private func finish(_ token: UploadToken, _ done: @escaping @Sendable (UploadStoreResult) -> Void) {
        let upload = uploads.withLock { uploads in
            if uploads[token]?.response == nil { uploads[token]?.finishCallback = done }
            return uploads[token]
        }
        guard let upload else { return done(.failed(.lost)) }
        upload.pipe.end()
        if let response = upload.response { done(.responded(response)) }
    }

    private func end(_ upload: Forwarded?) {
        upload?.task?.cancel()
        upload?.pipe.cancel()
    }

    /// The head of the complete request: that of the creation, without connection and upload fields.
    private static func head(_ head: HTTPRequest, length: Int64?) -> HTTPRequest {
        let created = head.headerFields
        var head = head
        head.headerFields = HTTPFields(
            created.filter { field in
                !UploadHead.ownFields.contains(field.name)
            }
        )
        head.headerFields[.contentLength] = length.map { String($0) }
        let fields = (UploadWireFormat(namedIn: created) ?? .newest).decode(created)
        // It is the digest of the creation's own content.
        if fields.isComplete == false { head.headerFields[.contentDigest] = nil }
        return head
    }

    func shutDown() async {
        service.withLock { $0 = nil }
        let all = uploads.withLock { uploads in
            defer { uploads = [:] }
            return Array(uploads.values)
        }
        for upload in all { end(upload) }
        for upload in all { await upload.task?.value }
        for task in cancelled.withLock({ Array($0.values) }) { await task.value }
    }
}
