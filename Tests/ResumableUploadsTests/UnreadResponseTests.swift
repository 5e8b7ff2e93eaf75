import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import ResumableUploads
import TestUploadServers
import Testing

/// A client that sends requests and reads no responses.
@Suite struct UnreadResponseTests {
    @Test func `a client that doesn't read its response loses the connection, and isn't read on meanwhile`() throws {
        let server = ResumableUploadServer { _ in UploadedResponse(head: HTTPResponse(status: .ok)) }
        let channel = EmbeddedChannel()
        let outbound = HeldWrites(failsAtClose: true)
        try channel.pipeline.syncOperations.addHandlers([outbound, ResumableUploadHandler(server)])
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        let request = HTTPRequest(method: .head, scheme: "http", authority: "h", path: "/.uploads/none")
        func ask() throws {
            try channel.writeInbound(HTTPRequestPart.head(request))
            try channel.writeInbound(HTTPRequestPart.end(nil))
        }
        try ask()
        outbound.release()
        channel.embeddedEventLoop.advanceTime(by: .seconds(3_600))
        #expect(channel.isActive, "the response was taken")
        try ask()
        let before = outbound.reads
        channel.read()
        #expect(outbound.reads == before)
        channel.embeddedEventLoop.advanceTime(by: .seconds(59))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }
}
