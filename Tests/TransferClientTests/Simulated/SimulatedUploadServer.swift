import Digests
import HTTPSemantics
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import SimulatedDisk
import Synchronization
import TransferProtocol
import Units

@testable import TransferClient

/// A server of resumable uploads and its network; both fail according to a seed. It keeps what it has received.
final class SimulatedUploadServer: RequestSending {
    private struct Upload {
        var bytes: [UInt8] = []
        var isComplete = false
    }

    private struct State {
        var random: SeededGenerator
        var uploads: [Int: Upload] = [:]
        var lastUpload = 0
        var requests = 0
        var deliveries: [[UInt8]] = []
    }

    private enum Fault {
        case noConnection, refused, unnamed, cut, responseLost, forgotten
    }

    private let dialect: UploadWireFormat
    private let sendsDigest: Bool
    /// From this request on everything works.
    private let calm: Int
    /// The client's machine, which sends nothing once it has crashed.
    private let disk: SimulatedDisk
    private let state: Mutex<State>

    init(seed: UInt64, _ dialect: UploadWireFormat, sendsDigest: Bool, calm: Int, _ disk: SimulatedDisk) {
        self.dialect = dialect
        self.sendsDigest = sendsDigest
        self.calm = calm
        self.disk = disk
        state = Mutex(State(random: SeededGenerator(seed: seed)))
    }

    /// The representations that the target has received, in order.
    var deliveries: [[UInt8]] { state.withLock { $0.deliveries } }

    func send<Outcome: Sendable>(
        _ request: HTTPRequest,
        to url: TransferURL,
        _ content: UploadBodyWriter?,
        within remaining: Duration?,
        receive: (ResponseParts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome {
        let fault = state.withLock { state -> Fault? in
            state.requests += 1
            guard state.requests < calm, state.random.next() % 100 < 70 else { return nil }
            return [.noConnection, .refused, .unnamed, .cut, .cut, .cut, .responseLost, .forgotten][
                Int(state.random.next() % 8)
            ]
        }
        if disk.isStopped || fault == .noConnection { throw TransientFailure.connectTimedOut }
        let (parts, source) = ResponseParts.makeTestingStream()
        guard let writer = content else {
            if fault == .responseLost {
                source.finish(throwing: Self.lost)
            } else {
                respond(source, response(to: request, url, fault))
            }
            return try await receive(parts, .http1)
        }
        let (outbound, sink) = NIOAsyncChannelOutboundWriter<HTTPRequestPart>.makeTestingWriter()
        async let _: Void = serve(request, url, sink, source, fault)
        async let _: Void = writer.run(through: outbound) {
        } close: {
            source.finish(throwing: Self.lost)
        }
        return try await receive(parts, .http1)
    }

    private static let lost = TransientFailure.connectionLost("as the test wants it")

    private func respond(_ source: ResponseParts.TestSource, _ head: HTTPResponse) {
        source.yield(.head(head))
        source.yield(.end(nil))
        source.finish()
    }

    private func head(_ status: Int, _ upload: UploadFields, location: Int? = nil) -> HTTPResponse {
        var fields: HTTPFields = [.uploadDraftInteropVersion: dialect.interopVersion.description]
        dialect.encode(upload, into: &fields)
        fields[.location] = location.map { "/uploads/\($0)" }
        return HTTPResponse(status: .init(code: status), headerFields: fields)
    }

    private func upload(_ url: TransferURL) -> Int? {
        url.path.hasPrefix("/uploads/") ? Int(url.path.dropFirst("/uploads/".count)) : nil
    }

    /// The response to a request without content.
    private func response(to request: HTTPRequest, _ url: TransferURL, _ fault: Fault?) -> HTTPResponse {
        if fault == .refused { return head(503, UploadFields()) }
        return state.withLock { state in
            guard let id = upload(url) else { return head(200, UploadFields()) }
            // Old uploads expire; that of a target that is done goes first.
            if fault == .forgotten, state.random.next() % 8 == 0 { state.uploads[id] = nil }
            if request.method == .delete { state.uploads[id] = nil }
            guard let found = state.uploads[id] else { return head(404, UploadFields()) }
            let fields = UploadFields(isComplete: found.isComplete, offset: Int64(found.bytes.count))
            return head(204, fields)
        }
    }

    /// Receives the content of a request.
    private func serve(
        _ request: HTTPRequest,
        _ url: TransferURL,
        _ sink: NIOAsyncChannelOutboundWriter<HTTPRequestPart>.TestSink,
        _ source: ResponseParts.TestSource,
        _ fault: Fault?
    ) async {
        if fault == .refused { return respond(source, head(503, UploadFields())) }
        let sent = dialect.decode(request.headerFields)
        let (found, limit) = state.withLock { state -> (Int?, Int) in
            let limit = fault == .cut ? Int(state.random.next() % 4_000) : .max
            if let id = upload(url) {
                return (state.uploads[id]?.bytes.count == sent.offset.map { Int($0) } ? id : nil, limit)
            }
            state.lastUpload += 1
            state.uploads[state.lastUpload] = Upload()
            return (state.lastUpload, limit)
        }
        guard let id = found else { return respond(source, head(409, UploadFields(isComplete: false))) }
        let isNew = upload(url) == nil
        if isNew, fault != .unnamed { source.yield(.head(head(104, UploadFields(), location: id))) }
        var rest = limit
        for await part in sink {
            // What a crashed machine seems to send was never sent.
            if disk.isStopped || Task.isCancelled { return source.finish(throwing: Self.lost) }
            switch part {
            case .head: continue
            case .body(let buffer):
                let bytes = buffer.readableBytesView.prefix(rest)
                rest -= bytes.count
                let offset = state.withLock { state in
                    state.uploads[id]?.bytes += bytes
                    return Int64(state.uploads[id]?.bytes.count ?? 0)
                }
                if rest == 0 { return source.finish(throwing: Self.lost) }
                if !isNew || fault != .unnamed { source.yield(.head(head(104, UploadFields(offset: offset)))) }
            case .end:
                let digest = deliver(id)
                if fault == .responseLost || fault == .unnamed { return source.finish(throwing: Self.lost) }
                var response = head(200, UploadFields(isComplete: true))
                response.headerFields[.reprDigest] = sendsDigest ? digest?.headerValue : nil
                return respond(source, response)
            }
        }
    }

    /// Passes a complete upload to the target, once.
    private func deliver(_ id: Int) -> ReprDigest? {
        state.withLock { state in
            guard let upload = state.uploads[id] else { return nil }
            if !upload.isComplete { state.deliveries.append(upload.bytes) }
            state.uploads[id]?.isComplete = true
            return ReprDigest(sha256: SHA256.hash(upload.bytes))
        }
    }
}
