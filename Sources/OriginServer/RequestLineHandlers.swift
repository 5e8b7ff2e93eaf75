import HTTPSemantics
import NIOCore
import NIOHTTP1

/// The parser position of a connection, shared by the handlers before and after the decoder.
final class RequestProgress {
    /// The part of a request that the next byte belongs to.
    enum Part {
        case line(RequestLine)
        case fields
        /// Content of known length: the bytes still to come.
        case content(Int)
        /// The line before a chunk, or the end of the one after it.
        case chunkSize(ChunkSize)
        /// A chunk: the bytes still to come.
        case chunk(Int)
        /// The decoder failed and ignores the rest.
        case undecodable
        /// A request line or framing was rejected: the rest is discarded.
        case rejected
    }

    fileprivate(set) var part = Part.line(RequestLine())
    /// The method as sent of the request being decoded; `nil` between requests.
    fileprivate var method: String?
    /// The traits of the current request; `nil` for HTTP/2, and before the first one.
    var traits: RequestTraits?
    /// Whether the connection ends with the current response.
    var endsConnection = false
    /// Whether the last response was written: no further request is processed (RFC 9112, section 9.6).
    var isOver = false
    /// Why a request line or framing was rejected. An `HTTPParserError` carries it through the pipeline.
    fileprivate(set) var rejection: ConnectionStateMachine.Rejection?
}

/// The size of a chunk, as far as its line has arrived (RFC 9112, section 7.1). The decoder validates the line.
struct ChunkSize {
    private var size: Int?
    private var hasEnded = false
    private var isLineComplete = false

    mutating func receive(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            isLineComplete = byte == UInt8(ascii: "\n")
            guard !hasEnded, let digit = Character(UnicodeScalar(byte)).hexDigitValue else {
                hasEnded = true
                continue
            }
            size = min(size ?? 0, .max >> 4) << 4 | digit
        }
    }

    /// What follows the received bytes. The trailer after the last chunk consists of fields.
    var next: RequestProgress.Part {
        guard isLineComplete else { return .chunkSize(self) }
        return switch size {
        case nil: .chunkSize(ChunkSize())
        case 0: .fields
        case let size?: .chunk(size)
        }
    }
}

/// Validates request lines before the decoder, and passes it one request at a time.
///
/// Forwarded buffers never span two requests, so the start of each request line is known.
final class RequestLineHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let progress: RequestProgress

    init(_ progress: RequestProgress) { self.progress = progress }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        while bytes.readableBytes > 0 {
            switch progress.part {
            case .line(var line): read(&line, &bytes, context)
            case .fields: pass(Self.lineLength(bytes), of: &bytes, context)
            case .chunkSize(var size):
                let count = Self.lineLength(bytes)
                size.receive(bytes.readableBytesView.prefix(count))
                progress.part = size.next
                pass(count, of: &bytes, context)
            case .chunk(let missing):
                let count = min(missing, bytes.readableBytes)
                progress.part = missing == count ? .chunkSize(ChunkSize()) : .chunk(missing - count)
                pass(count, of: &bytes, context)
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
            switch line.receive(byte) {
            case .incomplete: continue
            case .complete(let method, let decoded):
                progress.method = method
                progress.part = .fields
                context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: decoded)))
            case .rejected(let rejection):
                progress.part = .rejected
                progress.rejection = rejection
                // The pipeline queues errors of this type until earlier requests have been answered.
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

    /// The bytes up to and including a line end, or all of them.
    private static func lineLength(_ bytes: ByteBuffer) -> Int {
        let view = bytes.readableBytesView
        return view.firstIndex(of: UInt8(ascii: "\n")).map { view.distance(from: view.startIndex, to: $0) + 1 }
            ?? view.count
    }
}

/// Tracks the decoder through a request, and restores the original method.
final class RequestProgressHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let progress: RequestProgress

    init(_ progress: RequestProgress) { self.progress = progress }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .rejected = progress.part { return }
        let part = unwrapInboundIn(data)
        switch part {
        case .head(var head):
            // A head without a stored method comes from unvalidated bytes. Such bytes would follow a request of unknown
            // length.
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

    /// Stops the connection; the error is queued after earlier responses, as for a rejected line.
    private func reject(_ context: ChannelHandlerContext) {
        progress.part = .rejected
        progress.rejection = .malformed
        context.fireErrorCaught(HTTPParserError.invalidContentLength)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if progress.rejection == nil { progress.part = .undecodable }
        context.fireErrorCaught(error)
    }

    /// The framing of the content, whose fields the decoder has validated (RFC 9112, section 6.3); `nil` if its length
    /// is invalid.
    private static func content(of head: HTTPRequestHead) -> RequestProgress.Part? {
        if head.headers.contains(name: "transfer-encoding") { return .chunkSize(ChunkSize()) }
        guard let value = head.headers.first(name: "content-length") else { return .fields }
        return ContentLength.parse(value).map { .content(Int($0)) }
    }
}
