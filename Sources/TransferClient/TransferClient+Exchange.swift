import HTTPTransport
import HTTPTypes
import NIOCore
import TransferProtocol
import Units

/// A request that is sent once, and whose response is the caller's, whatever it is.
package struct ExchangeRequest: Sendable {
    package var method: HTTPRequest.Method
    package var url: String
    package var fields: HTTPFields
    package var credentials: DownloadCredentials
    /// What it carries; `nil` for nothing.
    package var body: [UInt8]?

    package init(
        method: HTTPRequest.Method,
        url: String,
        fields: HTTPFields,
        credentials: DownloadCredentials,
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
package struct ExchangeResponse: Sendable {
    package var status: Int
    package var fields: HTTPFields
    /// The URL that answered, after redirections.
    package var url: String
}

extension TransferClient {
    /// Sends one request, follows its redirections (RFC 9110, section 15.4), and hands the head of the final response and the
    /// parts of its body to the caller, which are not asked for faster than `onBody` takes them.
    ///
    /// - Parameters:
    ///   - onHead: Told once.
    ///   - onBody: Told of each part; `false` ends the exchange.
    /// - Throws: A `DownloadError`; `.gaveUp` after one attempt where the connection failed, or broke off in the body.
    package func exchange(
        _ request: ExchangeRequest,
        onHead: (ExchangeResponse) async throws(DownloadError) -> Void,
        onBody: ([UInt8]) async throws(DownloadError) -> Bool
    ) async throws(DownloadError) {
        let url = try await preparedURL(request.url)
        var request = request
        var trail = RequestTrail(url)
        let start = configuration.clock.now()
        for _ in 0...DownloadSession.mostRedirections {
            let spent = configuration.clock.now() - start
            let remaining = configuration.retry.deadline.map { max(.zero, $0 - spent) }
            guard let location = try await exchange(&request, trail, remaining, onHead, onBody) else { return }
            do throws(DownloadURLProblem) {
                trail.follow(try trail.current.resolving(location))
            } catch {
                throw .invalidRedirection(location, error)
            }
        }
        throw .tooManyRedirections(DownloadSession.mostRedirections)
    }

    /// One exchange on the way; the target of a redirection that is to be followed, for which the request is changed.
    private func exchange(
        _ request: inout ExchangeRequest,
        _ trail: RequestTrail,
        _ remaining: Duration?,
        _ onHead: (ExchangeResponse) async throws(DownloadError) -> Void,
        _ onBody: ([UInt8]) async throws(DownloadError) -> Bool
    ) async throws(DownloadError) -> String? {
        let exchange = DownloadExchange(configuration, group: eventLoopGroup, tls: tls, remaining: remaining)
        var fields = request.fields
        let added = request.credentials.fields(for: trail)
        for field in added { fields[fields: field.name] = added.filter { $0.name == field.name } }
        if let body = request.body { fields[.contentLength] = String(body.count) }
        let given = request
        do {
            let location = try await exchange.perform(
                given.method,
                at: trail.current,
                fields,
                body: given.body.map { ByteBuffer(bytes: $0) }
            ) { parts, _ -> RedirectionTarget? in
                var iterator = parts.makeAsyncIterator()
                guard case .head(let head) = try await iterator.next() else {
                    throw DownloadError.gaveUp(.attempts(1), .connectionLost("it was closed before the answer"))
                }
                if let target = RedirectionTarget(head) { return target }
                try await onHead(
                    ExchangeResponse(status: head.status.code, fields: head.headerFields, url: trail.current.text)
                )
                while let part = try await iterator.next() {
                    switch part {
                    case .head: throw DownloadError.gaveUp(.attempts(1), .malformedResponse("a second head"))
                    case .body(let buffer):
                        guard try await onBody(Array(buffer.readableBytesView)) else { return nil }
                    case .end: return nil
                    }
                }
                throw DownloadError.gaveUp(.attempts(1), .connectionLost("it was closed in the middle of the answer"))
            }
            if let location, location.isGet(after: request.method) {
                (request.method, request.body) = (.get, nil)
                request.fields[.contentType] = nil
            }
            return location?.location
        } catch let error as DownloadError {
            throw Task.isCancelled ? .cancelled : error
        } catch let problem as TLSSettingsProblem {
            throw .invalidTLSSettings(problem)
        } catch {
            if let failure = DownloadExchange.refusal(of: error) {
                throw .tlsRefused(host: trail.current.host, failure)
            }
            guard !Task.isCancelled, let setback = DownloadExchange.setback(of: error) else { throw .cancelled }
            throw .gaveUp(.attempts(1), setback)
        }
    }
}

/// Where a response sends a request on to.
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

    /// Whether the next request is a GET without a body: after a 303, and after a 301 or 302 of a POST (RFC 9110, section
    /// 15.4).
    func isGet(after method: HTTPRequest.Method) -> Bool {
        switch status {
        case 303: method != .head
        case 301, 302: method == .post
        default: false
        }
    }
}
