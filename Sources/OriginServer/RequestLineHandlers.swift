import HTTPSemantics
import NIOCore
import NIOHTTP1

/// The place of a connection in its stream of requests, shared by the handlers in front of the decoder and behind it.
final class RequestProgress {
    /// The part of a request that the next byte belongs to.
    enum Part {
        case line(RequestLine)
        case fields
        /// Content of a known length, of which this many bytes are still to come.
        case content(Int)
        /// Content in chunks, which end with a line.
        case chunks
        /// The decoder has failed: it gets the rest unread.
        case undecodable
        /// A request line or the framing of a request was rejected: the rest is dropped.
        case rejected
    }

    fileprivate(set) var part = Part.line(RequestLine())
    /// The method of the request that is being decoded, as it was sent; `nil` between two requests.
    fileprivate var method: String?
    /// The facts of the request that is being served; `nil` by HTTP/2, and before the first.
    var traits: RequestTraits?
    /// Whether the connection ends with the response to that request.
    var endsConnection = false
    /// Whether the last response of the connection was written: no request is carried out any more (RFC 9112, section 9.6).
    var isOver = false
    /// Why a request line or the framing of a request was rejected. The `HTTPParserError` that follows it through the pipeline stands for it.
    fileprivate(set) var rejection: ConnectionStateMachine.Rejection?
}

/// Judges request lines before the decoder does, and hands it one request at a time.
///
/// What it passes on never spans two requests, so it knows where each request line begins.
final class RequestLineHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let progress: RequestProgress

    init(_ progress: RequestProgress) {
        self.progress = progress
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        while bytes.readableBytes > 0 {
            switch progress.part {
            case .line(var line): read(&line, &bytes, context)
            case .fields, .chunks: pass(Self.lineLength(bytes), of: &bytes, context)
            case .content(let missing):
                let count = min(missing, bytes.readableBytes)
                progress.part = .content(missing - count)
                pass(count, of: &bytes, context)
            case .undecodable: pass(bytes.readableBytes, of: &bytes, context)
            case .rejected: return
            }
        }
    }

    private func read(_ line: inout RequestLine, _ bytes: inout ByteBuffer, _ context: ChannelHandlerContext) {
        while let byte: UInt8 = bytes.readInteger() {
            switch line.take(byte) {
            case .incomplete: continue
            case .complete(let method, let decoded):
                progress.method = method
                progress.part = .fields
                context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: decoded)))
            case .rejected(let rejection):
                progress.part = .rejected
                progress.rejection = rejection
                // Errors of this type wait in the pipeline until the requests before have been answered.
                context.fireErrorCaught(HTTPParserError.invalidInternalState)
            }
            return
        }
        progress.part = .line(line)
    }

    private func pass(_ count: Int, of bytes: inout ByteBuffer, _ context: ChannelHandlerContext) {
        guard let slice = bytes.readSlice(length: count) else { return }
        context.fireChannelRead(wrapInboundOut(slice))
    }

    /// The bytes up to a line end, which is counted, or all of them.
    private static func lineLength(_ bytes: ByteBuffer) -> Int {
        let view = bytes.readableBytesView
        return view.firstIndex(of: UInt8(ascii: "\n")).map { view.distance(from: view.startIndex, to: $0) + 1 }
            ?? view.count
    }
}

/// Follows the decoder through a request, and gives the request its own method back.
final class RequestProgressHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let progress: RequestProgress

    init(_ progress: RequestProgress) {
        self.progress = progress
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .rejected = progress.part { return }
        let part = unwrapInboundIn(data)
        switch part {
        case .head(var head):
            // A head without a method of its own comes from bytes that weren't judged. A request whose end isn't known
            // would be followed by such.
            guard let method = progress.method, let content = Self.content(of: head) else { return reject(context) }
            head.method = HTTPMethod(rawValue: method)
            progress.part = content
            context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body:
            context.fireChannelRead(data)
        case .end:
            progress.method = nil
            progress.part = .line(RequestLine())
            context.fireChannelRead(data)
        }
    }

    /// Lets nothing more of the connection through; the error waits for the answers before, as after a rejected line.
    private func reject(_ context: ChannelHandlerContext) {
        progress.part = .rejected
        progress.rejection = .malformed
        context.fireErrorCaught(HTTPParserError.invalidContentLength)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if progress.rejection == nil { progress.part = .undecodable }
        context.fireErrorCaught(error)
    }

    /// The framing of the content, whose fields the decoder has checked (RFC 9112, section 6.3); `nil` if its end isn't known.
    private static func content(of head: HTTPRequestHead) -> RequestProgress.Part? {
        if head.headers.contains(name: "transfer-encoding") { return .chunks }
        guard let value = head.headers.first(name: "content-length") else { return .fields }
        return ContentLength.parse(value).map { .content(Int($0)) }
    }
}
