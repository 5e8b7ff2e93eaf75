import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import ResumableUploads
import TestStreams
import TestUploadServers
import Testing

@testable import OriginServer

/// A client that sends upload requests and reads no responses.
@Suite struct UnreadResponseTests {
    @Test func `a client isn't read on while it doesn't read the response to an upload request`() async throws {
        let folder = try Folder()
        let configuration = OriginConfiguration(folder: folder.path, uploads: .init(folder: folder.path))
        let uploads = try #require(try await UploadEndpoint.open(configuration))
        let progress = RequestProgress()
        progress.traits = RequestTraits(
            HTTPRequestHead(version: .http1_1, method: .HEAD, uri: "/.uploads/none", headers: ["Host": "h"])
        )
        try ask(
            ResumableUploadHandler(
                host: OriginUploads(uploads: uploads, server: configuration, progress: progress)
            )
        )
        await uploads.service.shutDown()
    }

    private func ask(_ handler: ResumableUploadHandler) throws {
        let channel = EmbeddedChannel()
        let connection = HeldWrites(failsAtClose: false)
        try channel.pipeline.syncOperations.addHandlers([connection, handler])
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        let head = HTTPRequest(method: .head, scheme: "http", authority: "h", path: "/.uploads/none")
        for isRead in [true, false] {
            try channel.writeInbound(HTTPRequestPart.head(head))
            try channel.writeInbound(HTTPRequestPart.end(nil))
            if isRead { connection.release() }
            let before = connection.reads
            channel.read()
            #expect(connection.reads == before + (isRead ? 1 : 0))
        }
        let before = connection.reads
        connection.release()
        #expect(connection.reads == before + 1)
    }
}
