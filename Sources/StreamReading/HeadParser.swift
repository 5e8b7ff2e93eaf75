import FaultPlan
import NIOCore
import NIOEmbedded
import NIOHTTP1

/// Reads the heads of messages, one whole head at a time, with SwiftNIO's decoder (llhttp behind it).
///
/// Content never comes here: where it begins and ends is counted by `MessageScanner`.
enum HeadParser {
    /// The head of a request; `nil` where the bytes aren't one.
    static func request(_ bytes: Span<UInt8>) -> HTTPRequestHead? {
        let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)
        let channel = EmbeddedChannel(handler: ByteToMessageHandler(decoder))
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        guard (try? channel.writeInbound(buffer(of: bytes))) != nil,
            case .head(let head)? = try? channel.readInbound(as: HTTPServerRequestPart.self)
        else { return nil }
        return head
    }

    /// The head of a response to a request of `method`; `nil` where the bytes aren't one.
    static func response(_ bytes: Span<UInt8>, to method: HTTPMethod) -> HTTPResponseHead? {
        let decoder = HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward)
        let channel = EmbeddedChannel(handler: ByteToMessageHandler(decoder))
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        // The decoder matches responses with the requests that it saw going out.
        let request = HTTPRequestHead(version: .http1_1, method: method, uri: "/")
        guard (try? channel.writeOutbound(HTTPClientRequestPart.head(request))) != nil,
            (try? channel.writeInbound(buffer(of: bytes))) != nil,
            case .head(let head)? = try? channel.readInbound(as: HTTPClientResponsePart.self)
        else { return nil }
        return head
    }

    private static func buffer(of bytes: Span<UInt8>) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(bytes.count)
        for index in 0..<bytes.count { buffer.writeInteger(bytes[index]) }
        return buffer
    }
}
