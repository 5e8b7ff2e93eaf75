import Digests
import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOPosix
import TransferProtocol

/// Prepares and sends the response to a request.
struct Responder: Sendable {
    let configuration: OriginConfiguration
    let folder: ServedFolder
    let digests: DigestStore
    let threadPool: NIOThreadPool

    private struct FileChanged: Error {}

    /// A response, with the file it is about.
    private typealias Prepared = (plan: ResponsePlan, file: OpenedFile?)

    /// Sends the response to `request`, as described at `RequestHandler.Answer`, and logs it.
    ///
    /// If the file is truncated or changed meanwhile, its last bytes are withheld and `false` is returned: the content
    /// is then shorter than announced, so the client doesn't accept it.
    func respond(_ request: InboundRequest, on channel: any Channel) async -> Bool {
        let start = channel.eventLoop.now
        let (plan, file) = await prepare(request, on: channel)
        var bytesSent: Int64 = 0
        var ending = RequestRecord.Ending.complete
        do {
            try await send(plan, of: file, to: request, on: channel, count: &bytesSent)
        } catch is FileChanged {
            ending = .fileChanged
        } catch {
            ending = .disconnected
        }
        if let report = configuration.onRequest {
            let duration = Duration.nanoseconds((channel.eventLoop.now - start).nanoseconds)
            report(
                RequestRecord(
                    method: request.head?.method ?? "-",
                    target: request.head?.target ?? "-",
                    status: plan.status.code,
                    range: plan.range,
                    bytesSent: bytesSent,
                    bytesReceived: 0,
                    duration: duration,
                    ending: ending
                )
            )
        }
        guard ending == .complete else { return false }
        // The end has no bytes, so writing it can't fail.
        channel.writeAndFlush(HTTPResponsePart.end(nil), promise: nil)
        return true
    }

    private func prepare(_ request: InboundRequest, on channel: any Channel) async -> Prepared {
        let now = configuration.now()
        switch request {
        case .rejected(let rejection):
            return (.rejection(rejection, now: now), nil)
        case .request(let head):
            switch head.intent {
            case .rejected(let rejection): return (.rejection(rejection, now: now), nil)
            case .invalid(let reason): return (.message(.badRequest, reason, now: now), nil)
            case .notAllowed: return (.methodNotAllowed(now: now), nil)
            case .notImplemented: return (.methodUnknown(now: now), nil)
            case .coded:
                return (.message(.notImplemented, "The only transfer coding is chunked.", now: now), nil)
            case .options: return (.options(now: now), nil)
            case .read(let method, let target, let fields):
                return await prepare(method, target, query: head.query, fields, now: now, on: channel)
            }
        }
    }

    private func prepare(
        _ method: HTTPRequest.Method,
        _ target: RequestTarget,
        query: String?,
        _ fields: HTTPFields,
        now: HTTPDate,
        on channel: any Channel
    ) async -> Prepared {
        guard case .path(let components, let endsWithSlash) = target else {
            return (.refusal(.notFound, now: now), nil)
        }
        let file: OpenedFile
        do {
            file = try await threadPool.runIfActive { [folder] in
                try folder.open(components: components, isFolder: endsWithSlash)
            }
        } catch ServedFolder.Refusal.isFolder {
            let location = RequestTarget.folderReference(components, query: query)
            return (.redirection(to: location, now: now), nil)
        } catch {
            return (.refusal(error as? ServedFolder.Refusal ?? .exhausted, now: now), nil)
        }
        var plan = ResponsePlan.file(file.metadata, method: method, fields: fields, now: now)
        if plan.describesFile, fields[.wantReprDigest].flatMap({ WantReprDigest($0) })?.wantsSHA256 == true {
            plan.fields[.reprDigest] = await digest(of: file, on: channel.eventLoop)?.headerValue
        }
        return (plan, file)
    }

    /// The digest of a file's state; `nil` when it can't be read, changes meanwhile, or isn't known in time.
    private func digest(of file: OpenedFile, on eventLoop: any EventLoop) async -> ReprDigest? {
        let chunkBytes = configuration.limits.chunkBytes
        let timeout = configuration.limits.digestTimeout.nanoseconds
        return await digests.digest(for: file.metadata.entityTag) {
            // Cancellation ends the wait.
            try? await Task.sleep(for: .nanoseconds(timeout))
        } compute: { [fileIO, threadPool] in
            // The response may be sent meanwhile.
            guard let file = try? await threadPool.runIfActive({ try file.reopened() }) else { return nil }
            var hasher = SHA256()
            var offset: Int64 = 0
            while offset < file.metadata.size {
                let count = Int(min(Int64(chunkBytes), file.metadata.size - offset))
                let chunk = try? await file.read(at: offset, count: count, with: fileIO, on: eventLoop).get()
                guard let chunk, chunk.readableBytes == count, !Task.isCancelled else { return nil }
                hasher.update(chunk.readableBytesView)
                offset += Int64(count)
            }
            return file.isUnchanged() ? ReprDigest(sha256: hasher.finalize()) : nil
        }
    }

    private func send(
        _ plan: ResponsePlan,
        of file: OpenedFile?,
        to request: InboundRequest,
        on channel: any Channel,
        count: inout Int64
    ) async throws {
        let head = HTTPResponse(status: plan.status, headerFields: plan.fields)
        switch plan.content {
        case .none:
            try await channel.writeAndFlush(HTTPResponsePart.head(head))
        case .text(let text):
            channel.write(HTTPResponsePart.head(head), promise: nil)
            let body = request.head?.method == "HEAD" ? "" : text
            try await channel.writeAndFlush(HTTPResponsePart.body(ByteBuffer(string: body)))
            count = Int64(body.utf8.count)
        case .file(let first, let length):
            guard let file else { preconditionFailure("A response with the content of a file needs the file") }
            channel.write(HTTPResponsePart.head(head), promise: nil)
            try await send(first, length, of: file, on: channel, count: &count)
        }
    }

    /// Sends `length` bytes of a file, at least one. While one chunk is sent, the next is read and the previous may be
    /// in flight: at most three are buffered, however slowly the client reads.
    private func send(
        _ first: Int64,
        _ length: Int64,
        of file: OpenedFile,
        on channel: any Channel,
        count: inout Int64
    ) async throws {
        let chunkBytes = Int64(configuration.limits.chunkBytes)
        let end = first + length
        var offset = first
        var reading = file.read(
            at: first,
            count: Int(min(chunkBytes, length)),
            with: fileIO,
            on: channel.eventLoop
        )
        var sending: (future: EventLoopFuture<Void>, count: Int)?
        while offset < end {
            let expected = Int(min(chunkBytes, end - offset))
            guard let chunk = try? await reading.get(), chunk.readableBytes == expected else { throw FileChanged() }
            offset += Int64(expected)
            if offset < end {
                let next = Int(min(chunkBytes, end - offset))
                reading = file.read(at: offset, count: next, with: fileIO, on: channel.eventLoop)
            } else if !file.isUnchanged() {
                throw FileChanged()
            }
            let written: EventLoopFuture<Void> = channel.writeAndFlush(HTTPResponsePart.body(chunk))
            try await sending?.future.get()
            count += Int64(sending?.count ?? 0)
            sending = (written, expected)
        }
        try await sending?.future.get()
        count += Int64(sending?.count ?? 0)
    }

    private var fileIO: NonBlockingFileIO { NonBlockingFileIO(threadPool: threadPool) }
}

extension InboundRequest {
    /// The request's head, if it could be parsed.
    fileprivate var head: RequestHead? {
        switch self {
        case .request(let head): head
        case .rejected: nil
        }
    }
}

extension ResponsePlan {
    /// The response to an invalid request.
    static func rejection(_ rejection: ConnectionStateMachine.Rejection, now: HTTPDate) -> ResponsePlan {
        switch rejection {
        case .malformed: .message(.badRequest, "This is not a valid HTTP request.", now: now)
        case .headTooLarge: .message(.requestHeaderFieldsTooLarge, "The request's head is too large.", now: now)
        case .versionNotSupported: .message(.httpVersionNotSupported, "Use HTTP/1.1 or HTTP/1.0.", now: now)
        case .targetTooLong: .message(.uriTooLong, "The request target is too long.", now: now)
        case .methodUnknown: .methodUnknown(now: now)
        case .timedOut: .message(.requestTimeout, "The request took too long to arrive.", now: now)
        case .tooManyConnections: .tooManyConnections(now: now)
        }
    }

    /// The response for a file that isn't served.
    static func refusal(_ refusal: ServedFolder.Refusal, now: HTTPDate) -> ResponsePlan {
        switch refusal {
        // Redirected by the caller, which knows the folder's name.
        case .notFound, .isFolder: .message(.notFound, "There is no such file.", now: now)
        case .forbidden: .message(.forbidden, "The server may not read this file.", now: now)
        case .exhausted: .message(.serviceUnavailable, "The server has too many open files.", now: now)
        }
    }
}
