internal import Synchronization
internal import TransferClient
internal import TransferProtocol

extension TransferSession {
    /// Sends one request and returns the final response, whatever its status, with the complete body. The connection is kept
    /// for the next request. A failed connection isn't retried. After a 401 the request is repeated if the authenticator has credentials.
    ///
    /// - Parameters:
    ///   - request: The request. Up to 10 redirects are followed.
    ///   - body: The content of the request.
    /// - Returns: The body and the head of the response.
    /// - Throws: A `TransferError`: `.connectionFailed` when the connection failed or was lost, `.tooLong` when the
    ///   body exceeds `maximumDataBytes`.
    public func data(
        for request: TransferRequest,
        body: [UInt8]? = nil
    ) async throws -> (data: [UInt8], response: TransferResponse) {
        let single = try request.singleRequest(body)
        let most = configuration.maximumDataBytes
        let received = Mutex(
            (response: TransferResponse(status: 0, headers: [:], url: ""), data: [UInt8](), isTooLong: false)
        )
        do throws(EngineError) {
            let callbacks = callbacks(for: request, isForUpload: false)
            try await client(for: request).send(single, callbacks: callbacks) { head in
                received.withLock { $0.response = TransferResponse(head) }
            } onBody: { part in
                received.withLock { received in
                    received.isTooLong = received.data.count + part.count > most
                    if !received.isTooLong { received.data += part }
                    return !received.isTooLong
                }
            }
        } catch {
            throw TransferError(ofRequest: error)
        }
        let (response, data, isTooLong) = received.withLock { $0 }
        guard !isTooLong else { throw TransferError(.tooLong, "the body has more than \(most) bytes") }
        return (data, response)
    }

    /// Sends one request and returns the final response head, whatever its status, with the body as a stream. A failed
    /// connection isn't retried. After a 401 the request is repeated if the authenticator has credentials.
    ///
    /// - Parameters:
    ///   - request: The request. Up to 10 redirects are followed.
    ///   - body: The content of the request.
    /// - Returns: The body, which throws if the connection is lost, and the head of the response.
    /// - Throws: A `TransferError`: `.connectionFailed` when the connection failed.
    public func bytes(
        for request: TransferRequest,
        body: [UInt8]? = nil
    ) async throws -> (bytes: TransferBytes, response: TransferResponse) {
        let single = try request.singleRequest(body)
        let pipe = BodyPipe()
        let callbacks = callbacks(for: request, isForUpload: false)
        let client = client(for: request)
        let task = Task {
            do throws(EngineError) {
                try await client.send(single, callbacks: callbacks) { head in
                    pipe.head.resolve(.success(TransferResponse(head)))
                } onBody: { part in
                    await pipe.deliver(part)
                    return !Task.isCancelled
                }
                pipe.end(Task.isCancelled ? TransferError(ofRequest: .cancelled) : nil)
            } catch {
                let failure = TransferError(ofRequest: error)
                pipe.head.resolve(.failure(failure))
                pipe.end(failure)
            }
        }
        let source = TransferBytes.Source(pipe, task)
        let head = await withTaskCancellationHandler {
            await pipe.head.value
        } onCancel: {
            task.cancel()
        }
        return (TransferBytes(source: source), try head.get())
    }
}

extension TransferRequest {
    /// The media type, checked.
    var mediaType: String {
        get throws(TransferError) {
            guard HTTPField.isValidValue(contentType) else {
                throw .invalidRequest("the media type has a control character")
            }
            return contentType
        }
    }

    /// The engine's form of the request.
    fileprivate func singleRequest(_ body: [UInt8]?) throws(TransferError) -> SingleRequest {
        var fields: HTTPFields = [
            .accept: "*/*", .acceptEncoding: "identity", .userAgent: "squall",
        ]
        if body != nil {
            fields[.contentType] = try mediaType
        }
        return SingleRequest(
            method: method ?? .get,
            url: url,
            fields: fields,
            credentials: try engineCredentials(isForUpload: false),
            body: body
        )
    }
}

extension TransferError {
    /// Converts the failure of a single request, which keeps no state.
    init(ofRequest error: EngineError) {
        self.init(keepingNothing: error)
        if case .gaveUp(_, let cause) = error { (code, message) = (.connectionFailed, cause.description) }
    }
}
