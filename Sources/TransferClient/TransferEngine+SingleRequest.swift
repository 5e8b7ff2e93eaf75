import HTTPTransport
import HTTPTypes
import NIOCore
import TransferProtocol
import Units

/// A request that is sent once; the caller gets any response.
package struct SingleRequest: Sendable {
    package var method: HTTPRequest.Method
    package var url: String
    package var fields: HTTPFields
    package var credentials: RequestCredentials
    /// The content; `nil` for none.
    package var body: [UInt8]?

    package init(
        method: HTTPRequest.Method,
        url: String,
        fields: HTTPFields,
        credentials: RequestCredentials,
        body: [UInt8]?
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.credentials = credentials
        self.body = body
    }
}

/// The head of a final response.
public struct ResponseHead: Sendable {
    /// The status, from 200 to 599.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The URL that responded, after redirects.
    public var url: String
}

extension TransferEngine {
    /// Sends one request, follows redirects (RFC 9110, section 15.4), and passes the final response head and body parts
    /// to the caller, with backpressure from `onBody`.
    ///
    /// - Parameters:
    ///   - callbacks: The caller's callbacks; a resolved refusal repeats the request.
    ///   - onHead: Called once.
    ///   - onBody: Called for each part; `false` stops the response.
    /// - Throws: A `TransferError`; `.gaveUp` after one attempt when the connection failed or ended in the body.
    package func send(
        _ request: SingleRequest,
        callbacks: TransferCallbacks = TransferCallbacks(),
        onHead: @escaping @Sendable (ResponseHead) async throws(TransferError) -> Void,
        onBody: @escaping @Sendable ([UInt8]) async throws(TransferError) -> Bool
    ) async throws(TransferError) {
        try await withinDeadline { () async throws(TransferError) in
            try await sendToTheEnd(request, callbacks.endingWithTask, onHead, onBody)
            // A body whose reader was cancelled isn't complete.
            guard !Task.isCancelled else { throw .cancelled }
        }
    }

    private func sendToTheEnd(
        _ request: SingleRequest,
        _ callbacks: TransferCallbacks,
        _ onHead: @Sendable (ResponseHead) async throws(TransferError) -> Void,
        _ onBody: @Sendable ([UInt8]) async throws(TransferError) -> Bool
    ) async throws(TransferError) {
        var request = request
        var redirects = RedirectChain(try await preparedURL(request.url))
        let start = configuration.clock.now()
        var (redirections, refusals) = (0, 0)
        while true {
            let spent = configuration.clock.now() - start
            let remaining = configuration.retry.deadline.map { max(.zero, $0 - spent) }
            switch try await sendOnce(request, redirects, remaining, callbacks, refusals, onHead, onBody) {
            case .done: return
            case .authenticated(let credentials):
                refusals += 1
                request.credentials = credentials
            case .redirected(let target):
                guard redirections < DownloadSession.maximumRedirects else {
                    throw .tooManyRedirections(DownloadSession.maximumRedirects)
                }
                redirections += 1
                if target.isGet(after: request.method) {
                    (request.method, request.body) = (.get, nil)
                    request.fields[.contentType] = nil
                }
                do throws(TransferURLProblem) {
                    redirects.follow(try redirects.current.resolving(target.location))
                } catch {
                    throw .invalidRedirection(target.location, error)
                }
            }
        }
    }

    /// The effect of a response.
    private enum ResponseEffect: Sendable {
        case done
        case redirected(RedirectionTarget)
        case authenticated(RequestCredentials)
    }

    /// One request of the chain.
    private func sendOnce(
        _ request: SingleRequest,
        _ redirects: RedirectChain,
        _ remaining: Duration?,
        _ callbacks: TransferCallbacks,
        _ refusals: Int,
        _ onHead: (ResponseHead) async throws(TransferError) -> Void,
        _ onBody: ([UInt8]) async throws(TransferError) -> Bool
    ) async throws(TransferError) -> ResponseEffect {
        let url = redirects.current
        var fields = request.fields.replacing(request.credentials.fields(for: redirects))
        if let body = request.body { fields[.contentLength] = String(body.count) }
        let pacer = TransferPacer(configuration)
        do {
            return try await environment.kept.send(
                url.request(request.method, fields),
                to: url,
                request.body,
                within: remaining,
                configuration
            ) { parts -> ResponseEffect in
                var iterator = parts.makeAsyncIterator()
                var part = try await iterator.next()
                while case .head(let head) = part, head.status.isInterim {
                    callbacks.onInterimResponse?(head.status.code, head.headerFields)
                    part = try await iterator.next()
                }
                guard case .head(let head) = part else {
                    throw TransferError.gaveUp(.attempts(1), .connectionLost("it was closed before the answer"))
                }
                if let target = RedirectionTarget(head) { return .redirected(target) }
                if head.status == .unauthorized, refusals < AttemptLoop.maximumRefusals {
                    let refusal = AttemptRefusal(
                        status: head.status.code,
                        url: url,
                        challenge: HTTPChallenge(status: head.status.code, head.headerFields),
                        use: request.credentials.use(for: redirects),
                        isAtOrigin: !redirects.hasLeftOrigin,
                        previousRefusals: refusals
                    )
                    if let found = try await callbacks.credentials(for: refusal) { return .authenticated(found) }
                }
                let response = ResponseHead(status: head.status.code, fields: head.headerFields, url: url.text)
                if let accepts = callbacks.accepts, await !accepts(response) { throw TransferError.cancelled }
                try await onHead(response)
                while let part = try await iterator.next() {
                    switch part {
                    case .head: throw TransferError.gaveUp(.attempts(1), .malformedResponse("a second head"))
                    case .body(let buffer):
                        try await pacer?.admit(buffer.readableBytes)
                        guard try await onBody(Array(buffer.readableBytesView)) else { return .done }
                    case .end: return .done
                    }
                }
                throw TransferError.gaveUp(.attempts(1), .connectionLost("it was closed in the middle of the answer"))
            }
        } catch {
            switch AttemptFailure(error, at: url) {
            case .final(let error): throw Task.isCancelled ? .cancelled : error
            case .transient(let cause): throw .gaveUp(.attempts(1), cause)
            }
        }
    }
}

/// The target of a redirect.
private struct RedirectionTarget: Sendable {
    let location: String
    private let status: Int

    init?(_ head: HTTPResponse) {
        guard [301, 302, 303, 307, 308].contains(head.status.code), let location = head.headerFields[.location] else {
            return nil
        }
        self.location = location
        status = head.status.code
    }

    /// Whether the next request is a GET without a body: after a 303, and after a 301 or 302 in response to POST (RFC
    /// 9110, section 15.4).
    func isGet(after method: HTTPRequest.Method) -> Bool {
        switch status {
        case 303: method != .head
        case 301, 302: method == .post
        default: false
        }
    }
}
