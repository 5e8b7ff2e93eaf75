import HTTPTypes
import NIOCore
import NIOHTTPTypes
import ResumableUploads

/// The uploads of one connection.
///
/// The `ResumableUploadHandler` comes before the `RequestHandler`, which gets all other requests. For an upload the
/// `RequestHandler` gets the handler's events, and enforces the remaining connection rules: unsent bytes, lingering, idle
/// time.
struct OriginUploads: UploadHost {
    let uploads: UploadEndpoint
    let server: OriginConfiguration
    let progress: RequestProgress

    var service: UploadService { uploads.service }
    var isOver: Bool { progress.isOver }
    var isConnectionManaged: Bool { true }

    var configuration: ResumableUploadServer.Configuration {
        var configuration = ResumableUploadServer.Configuration()
        configuration.bufferBytes = server.limits.uploadBufferBytes
        configuration.minimumContentRate = server.limits.minimumContentRate
        configuration.contentRateWindow = server.limits.contentRateWindow
        return configuration
    }

    func route(_ head: HTTPRequest) -> UploadRoute {
        let subject = uploads.paths.subject(of: head)
        let traits = traits(of: head)
        // The next handler responds to invalid requests.
        if subject == .other || !RequestHead(head, traits, limits: server.limits).isValid { return .forward }
        switch subject {
        case .other: return .forward
        case .missing: return .respond(.message(404, "There is no such upload."))
        case .refused(let reason): return .respond(.message(400, reason))
        case .notAllowed:
            var response = UploadResponse.message(405, "Files can be read, and uploaded by PUT and POST.")
            response.fields[.allow] = "\(ResponsePlan.allowedMethods), PUT, POST"
            return .respond(response)
        case .resource(let resource):
            let request = UploadRequestHead(
                resource: resource,
                method: head.method,
                fields: head.headerFields,
                contentLength: traits.contentLength
            )
            // Without a length HTTP/1 has no content (RFC 9112, section 6.3), which nobody means to upload.
            if case .target = resource, head.method != .options, !request.isPartial, traits.contentLength == 0,
                head.headerFields[.contentLength] == nil
            {
                return .respond(.message(411, "An upload needs Content-Length or Transfer-Encoding."))
            }
            return .upload(request)
        }
    }

    private func traits(of head: HTTPRequest) -> RequestTraits { progress.traits ?? RequestTraits(head) }
    func endsConnection(after head: HTTPRequest) -> Bool { !traits(of: head).keepsAlive }
    func contentLength(of head: HTTPRequest) -> Int64? { traits(of: head).contentLength }
    /// Nothing: requests for limits are about uploads here.
    func addLimits(to fields: inout HTTPFields, for head: HTTPRequest) {}

    func complete(_ fields: inout HTTPFields, isLast: Bool, _ context: ChannelHandlerContext) {
        fields[.date] = server.now().headerValue
    }

    /// Writes through the `RequestHandler`, which tracks unsent bytes.
    func write(_ part: HTTPResponsePart, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        context.channel.write(part, promise: promise)
    }

    func note(_ event: UploadHandlerEvent, _ context: ChannelHandlerContext) {
        context.fireUserInboundEventTriggered(event)
    }

    func report(_ request: UploadReport) {
        server.onRequest?(
            RequestRecord(
                method: request.head.method.rawValue,
                target: request.head.path ?? "",
                status: request.status ?? 0,
                range: nil,
                bytesSent: 0,
                bytesReceived: request.bytesReceived,
                duration: .nanoseconds((NIODeadline.now() - request.start).nanoseconds),
                ending: request.status == nil ? .disconnected : .complete
            )
        )
    }
}
