import HTTPSemantics
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol

/// A resumable upload server in one dialect, which keeps the received bytes of cut connections.
final class DialectHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    private let server: UploadServer
    private let ordinal: Int
    private let dialect: UploadWireFormat
    /// The upload that receives content; `nil` to discard it.
    private var current: Int?
    private var completes = false
    private var isResolved = false
    private var unreported = 0

    init(_ server: UploadServer, _ ordinal: Int, _ dialect: UploadWireFormat) {
        self.server = server
        self.ordinal = ordinal
        self.dialect = dialect
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let buffer):
            guard let current, !isResolved else { return }
            server.record.withLock { $0.uploads[current]?.bytes += buffer.readableBytesView }
            unreported += buffer.readableBytes
            if dialect.rules.hasProgressResponses, unreported >= 32 << 10 {
                unreported = 0
                inform(context) { (self.dialect).encode(UploadFields(offset: self.offset(current)), into: &$0) }
            }
        case .end: if let current, !isResolved { end(current, context) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func offset(_ id: Int) -> Int64 { server.record.withLock { Int64($0.uploads[id]?.bytes.count ?? 0) } }

    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        let reported = dialect.decode(head.headerFields)
        let length = head.headerFields[.contentLength].flatMap { Int64($0) } ?? 0
        if let status = server.habits.refuse(ordinal, head.headerFields) {
            return respond(status, context) { $0[.wwwAuthenticate] = status == 401 ? UploadServer.challenge : nil }
        }
        guard UploadWireFormat.interopVersion(in: head.headerFields) == dialect.interopVersion else {
            return respond(400, context) { $0[.uploadDraftInteropVersion] = self.dialect.interopVersion.description }
        }
        if let limit = server.habits.maximumAppend, length > limit {
            return respond(413, context) { self.limits(&$0) }
        }
        if server.habits.silentMethods.contains(head.method.rawValue) { return }
        guard let id = head.path?.split(separator: "/").last.flatMap({ Int($0) }) else {
            return create(reported, context)
        }
        guard server.record.withLock({ $0.uploads[id] }) != nil else { return respond(404, context) }
        switch head.method {
        case .head: answerOffset(id, context)
        case .patch: append(reported, head, id, context)
        case .delete:
            server.record.withLock { $0.uploads[id] = nil }
            respond(204, context)
        default: respond(405, context)
        }
    }

    private func create(_ reported: UploadFields, _ context: ChannelHandlerContext) {
        let id = server.record.withLock { record in
            let id = record.uploads.count + 1
            record.uploads[id] = UploadServer.Upload()
            return id
        }
        current = id
        completes = reported.isComplete ?? true
        if !server.habits.informsLate { informOfResource(id, context) }
        if server.habits.isDeaf { context.channel.setOption(.autoRead, value: false).whenComplete { _ in } }
    }

    private func informOfResource(_ id: Int, _ context: ChannelHandlerContext) {
        inform(context) {
            $0[.location] = "/uploads/\(id)"
            self.limits(&$0)
        }
    }

    private func append(_ reported: UploadFields, _ head: HTTPRequest, _ id: Int, _ context: ChannelHandlerContext) {
        if let type = dialect.rules.appendMediaType, head.headerFields[.contentType] != type {
            return respond(415, context)
        }
        let isComplete = server.record.withLock { $0.uploads[id]?.isComplete ?? false }
        guard reported.offset == offset(id), !(dialect.rules.isFlagRequiredOnAppend && reported.isComplete == nil)
        else {
            return respond(409, context) {
                (self.dialect).encode(UploadFields(isComplete: false, offset: self.offset(id)), into: &$0)
            }
        }
        if isComplete {
            guard dialect.rules.completedAppend == .replayOrRefuse else { return respond(400, context) }
            return answerFinally(id, context)
        }
        current = id
        completes = reported.isComplete ?? true
    }

    private func end(_ id: Int, _ context: ChannelHandlerContext) {
        guard completes else {
            return respond(dialect.rules.incompleteAppendStatus, context) {
                let offset = self.dialect.rules.responsesCarryOffset ? self.offset(id) : nil
                (self.dialect).encode(UploadFields(isComplete: false, offset: offset), into: &$0)
                $0[.location] = "/uploads/\(id)"
            }
        }
        server.record.withLock { record in
            record.uploads[id]?.isComplete = true
            record.delivered.append(record.uploads[id]?.bytes ?? [])
        }
        if server.habits.informsLate { informOfResource(id, context) }
        if server.habits.mute.contains(ordinal) { return context.close(promise: nil) }
        answerFinally(id, context)
    }

    private func answerFinally(_ id: Int, _ context: ChannelHandlerContext) {
        if let verdict = server.habits.verdict { return respond(verdict, context) }
        respond(201, context) {
            let rules = self.dialect.rules
            (self.dialect).encode(
                UploadFields(
                    isComplete: rules.isUnflaggedResponseFinal ? nil : true,
                    offset: rules.responsesCarryOffset ? self.offset(id) : nil
                ),
                into: &$0
            )
            $0[.reprDigest] = self.server.habits.digest
        }
    }

    private func answerOffset(_ id: Int, _ context: ChannelHandlerContext) {
        let isComplete = server.record.withLock { $0.uploads[id]?.isComplete ?? false }
        respond(204, context) {
            let offset = self.server.habits.toldOffset(self.offset(id))
            (self.dialect).encode(UploadFields(isComplete: isComplete, offset: offset), into: &$0)
            self.limits(&$0)
        }
    }

    private func limits(_ fields: inout HTTPFields) {
        guard let limit = server.habits.maximumAppend else { return }
        dialect.encode(UploadFields(limits: UploadLimits(maximumAppendSize: limit)), into: &fields)
    }

    private func inform(_ context: ChannelHandlerContext, _ change: (inout HTTPFields) -> Void) {
        guard server.habits.interimResponses else { return }
        var fields: HTTPFields = [.uploadDraftInteropVersion: dialect.interopVersion.description]
        change(&fields)
        context.writeAndFlush(
            wrapOutboundOut(.head(HTTPResponse(status: .init(code: 104), headerFields: fields))),
            promise: nil
        )
    }

    private func respond(
        _ status: Int,
        _ context: ChannelHandlerContext,
        _ change: (inout HTTPFields) -> Void = { _ in }
    ) {
        isResolved = true
        var fields: HTTPFields = status == 204 ? [:] : [.contentLength: "0"]
        change(&fields)
        context.write(
            wrapOutboundOut(.head(HTTPResponse(status: .init(code: status), headerFields: fields))),
            promise: nil
        )
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
