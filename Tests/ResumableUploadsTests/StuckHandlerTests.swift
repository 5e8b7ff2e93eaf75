import HTTPTypes
import NIOEmbedded
import TestStreams
import Testing
import TransferProtocol

@testable import ResumableUploads

/// Uploads whose handler neither reads nor returns, and ignores cancellation.
@Suite(.timeLimit(.minutes(5))) struct StuckHandlerTests {
    /// The point at which the server waits.
    enum Wait: CaseIterable {
        /// For the handler to read.
        case append
        /// For the handler's response.
        case finish
    }

    /// An upload that has reached this point.
    private struct Upload {
        let server: ResumableUploadServer
        let id: UploadRequestID
        let token: UploadToken
        let actions: AsyncStream<UploadServerAction>
        /// Lets the handler return.
        let opened: AsyncStream<Void>.Continuation

        init(_ wait: Wait, _ configuration: ResumableUploadServer.Configuration = .init()) async throws {
            let (gate, opened) = AsyncStream<Void>.makeStream()
            self.opened = opened
            server = ResumableUploadServer(configuration: configuration) { _ in
                await Task { for await _ in gate { break } }.value
                return UploadedResponse(head: HTTPResponse(status: .created))
            }
            let length: Int64 = wait == .append ? 2 : 0
            var fields = UploadWireFormat.v10.fields(isComplete: true, length: length)
            fields[.contentLength] = "\(length)"
            (id, token, actions) = try Self.begin(.put, "/photo", fields, on: server)
            for await action in actions { if case .receive = action { break } }
            server.service.handle(wait == .append ? .content(id, [1]) : .contentEnded(id))
        }

        /// Starts a request.
        static func begin(
            _ method: HTTPRequest.Method,
            _ path: String,
            _ fields: HTTPFields,
            on server: ResumableUploadServer
        ) throws -> (UploadRequestID, UploadToken, AsyncStream<UploadServerAction>) {
            let (actions, sink) = AsyncStream<UploadServerAction>.makeStream()
            let head = HTTPRequest(method: method, scheme: "http", authority: "h", path: path, headerFields: fields)
            guard case .upload(let request) = server.route(head) else { throw CancellationError() }
            let id = server.service.begin(request, head, NIOAsyncTestingChannel()) { sink.yield($0) }
            let token: UploadToken
            switch request.resource {
            case .upload(let named): token = named
            case .target: token = try #require(server.service.upload(of: id))
            }
            return (id, token, actions)
        }
    }

    private static func status(_ actions: AsyncStream<UploadServerAction>) async -> Int? {
        for await action in actions {
            if case .respond(_, let response) = action { return response.status }
            if case .close = action { return nil }
        }
        return nil
    }

    @Test(arguments: Wait.allCases)
    func `DELETE ends an upload that waits for its handler`(wait: Wait) async throws {
        let upload = try await Upload(wait)
        let fields = UploadWireFormat.v10.fields()
        let (_, _, actions) = try Upload.begin(.delete, "/.uploads/\(upload.token)", fields, on: upload.server)
        #expect(await Self.status(actions) == 204)
        #expect(upload.server.count == 0)
        upload.opened.finish()
        await upload.server.shutDown()
    }

    @Test(arguments: Wait.allCases)
    func `an upload that waits for its handler expires`(wait: Wait) async throws {
        var configuration = ResumableUploadServer.Configuration()
        configuration.policy.idleTimeout = 0
        let upload = try await Upload(wait, configuration)
        upload.server.service.handle(.tick)
        #expect(upload.server.count == 1, "its client is there")
        upload.server.service.handle(.disconnected(upload.id))
        upload.server.service.handle(.tick)
        #expect(await eventually { upload.server.count == 0 })
        upload.opened.finish()
        await upload.server.shutDown()
    }

    @Test(arguments: Wait.allCases)
    func `a client that waits for its handler is informed when the upload expires`(wait: Wait) async throws {
        var configuration = ResumableUploadServer.Configuration()
        configuration.policy.lifetime = 0
        let upload = try await Upload(wait, configuration)
        upload.server.service.handle(.tick)
        #expect(await Self.status(upload.actions) == 404)
        upload.opened.finish()
        await upload.server.shutDown()
    }
}
