import ControlAPI
import EventLoop
import FaultProfile
import Foundation
import HTTPTypes
import OperatingSystem
import ProxyEngine
import TestSockets
import TestStreams
import Testing

/// A control server without its HTTP port, and an echo server to forward to.
struct V1Fixture: Sendable {
    let handler: ControlHandler
    let v1: V1API
    let proxies: ProxyManager
    let profiles: ProfileStore
    let journal: JournalHub
    /// The echo server's address.
    let upstream: String

    /// The response to a request, whose content is JSON unless the response has none.
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: String = "",
        fields: HTTPFields = [:],
        client: ClientPresence = ClientPresence()
    ) async throws -> V1Answer {
        let parts = path.split(separator: "?", maxSplits: 1).map(String.init)
        var request = APIRequest(
            method: method,
            path: parts[0],
            query: parts.count > 1 ? parts[1] : "",
            fields: fields,
            authority: "localhost:8474",
            body: Array(body.utf8)
        )
        request.client = client
        return V1Answer(await handler.respond(to: request))
    }

    /// Makes the proxy `name`, on a free port of `host`.
    @discardableResult
    func create(_ name: String, _ more: String = "", at host: String = "127.0.0.1") async throws -> V1Answer {
        let answer = try await send(
            .post,
            "/v1/proxies",
            #"{"name":"\#(name)","listen":"\#(host):0","upstream":"\#(upstream)"\#(more)}"#
        )
        try #require(answer.status == 201, "\(answer.text)")
        return answer
    }

    /// A connection to a proxy, over which a byte has come back.
    func client(of proxy: String) async throws -> TestSocket {
        let answer = try await send(.get, "/v1/proxies/\(proxy)")
        let listen = try #require(Endpoint(answer.string("listen")))
        let address = try #require(SocketAddress(numericHost: listen.host, port: listen.port))
        return try await blocking {
            let client = try TestSocket.connected(to: address).get()
            try client.send([1])
            _ = try client.receive(exactly: 1)
            return client
        }
    }
}

/// A response, read as JSON.
struct V1Answer {
    let status: Int
    let fields: HTTPFields
    let text: String
    let stream: AsyncStream<[UInt8]>?

    init(_ response: APIResponse) {
        (status, fields) = (response.status, response.fields)
        switch response.body {
        case .bytes(let bytes): (text, stream) = (String(decoding: bytes, as: UTF8.self), nil)
        case .stream(let parts): (text, stream) = ("", parts)
        }
    }

    /// A text as if it were the content of a response.
    init(text: String) { (status, fields, self.text, stream) = (200, [:], text, nil) }

    /// The value at a path of keys and indices: "proxies.0.name".
    func value(_ path: String) -> Any? {
        var value: Any? = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        for key in path.split(separator: ".") {
            if let index = Int(key), let list = value as? [Any] {
                value = list.indices.contains(index) ? list[index] : nil
            } else {
                value = (value as? [String: Any])?[String(key)]
            }
        }
        return value is NSNull ? nil : value
    }

    func string(_ path: String) -> String { value(path) as? String ?? "" }
    func number(_ path: String) -> Int? { (value(path) as? NSNumber)?.intValue }
    func flag(_ path: String) -> Bool? { value(path) as? Bool }
    /// The values of a key of each element of a list.
    func list(_ path: String, _ key: String) -> [String] {
        ((value(path) as? [Any]) ?? []).map { ($0 as? [String: Any])?[key] as? String ?? "" }
    }
}

/// Runs `body` with a control server over real loops.
func withV1(
    token: String? = nil,
    story: Story? = nil,
    queue: QueueSource? = nil,
    forwardPolicy: ForwardPolicy? = nil,
    loops count: Int = 1,
    isStrict: Bool = false,
    resolve: @escaping @Sendable (Endpoint) async throws(SystemError) -> [SocketAddress] = Resolver.resolve,
    _ body: @Sendable (V1Fixture) async throws -> Void
) async throws {
    let (listener, address) = TestSocket.listening(backlog: 1_024)
    Thread.detachNewThread {
        while true {
            do throws(Errno) {
                let socket = try listener.accepted()
                Thread.detachNewThread {
                    while let part = try? socket.receive(1 << 16), !part.isEmpty { try? socket.send(part) }
                    socket.close()
                }
            } catch {
                guard error.code == EAGAIN else { return }
            }
        }
    }
    defer { listener.interrupt() }
    let loops = try EventLoopGroup(count: count)
    let journal = JournalHub()
    let proxies = ProxyManager(
        loops: loops,
        seed: 7,
        isStrict: isStrict,
        forwardPolicy: forwardPolicy,
        journal: journal,
        resolve: resolve
    ) { _, _ in }
    let profiles = ProfileStore(
        shipped: { [ProfileStore.Listed(name: "slow", summary: "a slow line")] },
        resolve: { reference in
            guard reference == .shipped("slow") else {
                return .failure(ResolutionError(what: "there is no such profile", remedy: "take “slow”"))
            }
            let text = #"{"name":"slow","summary":"a slow line","faults":[{"kind":"latency","delay":"1 ms"}]}"#
            return .success(ProfileSource(file: "slow.json", text: text))
        },
        changed: { journal.notices.noteChange() }
    )
    let v1 = V1API(proxies: proxies, profiles: profiles, story: story, queue: queue)
    let fixture = V1Fixture(
        handler: ControlHandler(
            requestGuard: RequestGuard(token: token),
            toxiproxy: ToxiproxyAPI(proxies: proxies, isStrict: isStrict),
            v1: v1
        ),
        v1: v1,
        proxies: proxies,
        profiles: profiles,
        journal: journal,
        upstream: "\(address)"
    )
    try await ending(fixture, after: body) {
        await proxies.stop()
        await loops.stop()
    }
}
