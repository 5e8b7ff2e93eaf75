#if Control
    import ControlAPI
    import HTTPTypes
    import HummingbirdCore
    import NIOCore

    extension ControlServer {
        /// Hands requests with their contents to the handler.
        struct Responder {
            let handler: ControlHandler
            /// The most bytes of the contents of requests: 32 MiB.
            private let requests = ContentBudget(limit: 32 << 20)
            /// The most bytes of the responses that are longer than a slice, until their clients have taken them: 128 MiB.
            private let responses = ContentBudget(limit: 128 << 20)
            /// The bytes of a response that are handed to a connection at a time, so that it is known how far its client is: 64 KiB.
            private static let slice = 64 << 10

            init(handler: ControlHandler) { self.handler = handler }

            /// The reason why a request's content isn't taken.
            private enum Unread: Error {
                case tooLong(limit: Int)
                case late
                case busy
            }

            func respond(to request: Request, on channel: any Channel) async throws -> Response {
                var asked = APIRequest(request.head)
                let isHead = request.method == .head
                // `RequestHeadHandler` drops the content.
                if let refusal = handler.refusal(of: asked) { return self.response(refusal, to: asked, isHead) }
                if let client = try await presence(of: asked, channel) { asked.client = client }
                let share = ContentBudget.Share(of: requests)
                defer { withExtendedLifetime(share) {} }
                let response: APIResponse
                do {
                    asked.body = try await content(of: request, limit: handler.contentLimit(of: asked), share)
                    response = await handler.respond(to: asked)
                } catch let unread as Unread {
                    try await channel.head { $0.dropRest(on: channel) }
                    switch unread {
                    case .tooLong(let limit): response = ControlHandler.tooLong(asked, limit)
                    case .late: response = ControlHandler.unread(asked, 408, "the body didn't come in time")
                    case .busy:
                        response = ControlHandler.unread(asked, 503, "the bodies of other requests fill the memory")
                    }
                }
                return self.response(response, to: asked, isHead)
            }

            /// The client of a request whose response may wait; `nil` for others.
            private func presence(of asked: APIRequest, _ channel: any Channel) async throws -> ClientPresence? {
                guard handler.mayWait(asked) else { return nil }
                return try await channel.head { $0.client }
            }

            /// The content, whose bytes `share` takes.
            private func content(
                of request: Request,
                limit: Int,
                _ share: ContentBudget.Share
            ) async throws -> [UInt8] {
                if request.headers[.contentLength] == nil, request.headers[.transferEncoding] == nil { return [] }
                return try await withThrowingTaskGroup(of: [UInt8].self) { group in
                    group.addTask {
                        var bytes: [UInt8] = []
                        for try await part in request.body {
                            guard part.readableBytes <= limit - bytes.count else { throw Unread.tooLong(limit: limit) }
                            guard share.take(part.readableBytes) else { throw Unread.busy }
                            bytes.append(contentsOf: part.readableBytesView)
                        }
                        return bytes
                    }
                    group.addTask {
                        try await Task.sleep(for: ControlServer.bodyTimeout)
                        throw Unread.late
                    }
                    defer { group.cancelAll() }
                    return try await group.next() ?? []
                }
            }

            /// The response; without its content after HEAD (RFC 9110, section 9.3.2).
            private func response(_ response: APIResponse, to asked: APIRequest, _ isHead: Bool) -> Response {
                let body: ResponseBody
                switch response.body {
                case .bytes(let bytes) where bytes.count <= Responder.slice:
                    body = ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
                case .bytes(let bytes):
                    let share = ContentBudget.Share(of: responses)
                    guard share.take(bytes.count) else {
                        let busy = "clients that don't read their responses fill the memory"
                        return self.response(ControlHandler.unread(asked, 503, busy), to: asked, isHead)
                    }
                    body = ResponseBody(contentLength: bytes.count) { writer in
                        for begin in stride(from: 0, to: bytes.count, by: Responder.slice) {
                            let end = min(begin + Responder.slice, bytes.count)
                            try await writer.write(ByteBuffer(bytes: bytes[begin..<end]))
                        }
                        try await writer.finish(nil)
                        withExtendedLifetime(share) {}
                    }
                case .stream(let parts):
                    body = ResponseBody(asyncSequence: parts.map { ByteBuffer(bytes: $0) })
                }
                let whole = Response(status: .init(code: response.status), headers: response.fields, body: body)
                return isHead ? whole.createHeadResponse() : whole
            }
        }
    }

    extension Channel {
        /// Calls `body` with the handler of the connection's heads, on its loop.
        fileprivate func head<Result: Sendable>(
            _ body: @escaping @Sendable (RequestHeadHandler) -> Result
        ) async throws -> Result {
            try await eventLoop.submit {
                body(try self.pipeline.syncOperations.handler(type: RequestHeadHandler.self))
            }.get()
        }
    }

    extension APIRequest {
        init(_ head: HTTPRequest) {
            let target = head.path ?? "/"
            let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            self.init(
                method: head.method,
                path: String(parts[0]),
                query: parts.count > 1 ? String(parts[1]) : "",
                fields: head.headerFields,
                authority: head.authority
            )
        }
    }
#endif
