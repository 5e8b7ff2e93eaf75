import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// A server whose connections take uploads through a `ResumableUploadHandler`.
package protocol UploadHost {
    /// The uploads.
    var service: UploadService { get }
    /// The limits of a connection.
    var configuration: ResumableUploadServer.Configuration { get }
    /// Whether the next handler limits the sending of responses, and closes the connection after the last; then content that
    /// is missing isn't discarded.
    var isConnectionManaged: Bool { get }
    /// Whether no further request of the connection is processed.
    var isOver: Bool { get }

    /// What happens to a request.
    func route(_ head: HTTPRequest) -> UploadRoute
    /// Whether the connection ends with the response to a request (RFC 9112, section 9.6).
    func endsConnection(after head: HTTPRequest) -> Bool
    /// The length of a request's content: 0 without content, `nil` if unknown.
    func contentLength(of head: HTTPRequest) -> Int64?
    /// Adds the upload limits to the next handler's response to an OPTIONS request.
    func addLimits(to fields: inout HTTPFields, for head: HTTPRequest)
    /// Adds the server's own fields to a final response. `isLast`: the connection ends with it.
    func complete(_ fields: inout HTTPFields, isLast: Bool, _ context: ChannelHandlerContext)
    /// Writes a part of a response.
    func write(_ part: HTTPResponsePart, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext)
    /// Called when a request is taken, has arrived, and before the last response.
    func note(_ event: UploadHandlerEvent, _ context: ChannelHandlerContext)
    /// Called when a request has been answered with `status`, or was lost.
    func report(_ request: UploadReport)
}

/// What happens to a request.
package enum UploadRoute {
    /// It isn't about an upload: the next handler gets it.
    case forward
    /// It gets this response; if `isLast`, the connection ends with it.
    case respond(UploadResponse, isLast: Bool = false)
    /// It is about an upload.
    case upload(UploadRequestHead)
}

/// A point in the life of a request of an upload.
package enum UploadHandlerEvent: Hashable, Sendable {
    /// The request was taken.
    case delegated
    /// The request has arrived completely.
    case received
    /// Its last response follows, and then the connection closes.
    case endsConnection
}

/// A request that has been answered, or was lost.
package struct UploadReport {
    package var head: HTTPRequest
    /// The status of the response; `nil` without one.
    package var status: Int?
    /// The content bytes that arrived.
    package var bytesReceived: Int64
    /// When its head arrived.
    package var start: NIODeadline
}
