import DevelopmentCA
import HTTPTransport
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// Transfers through an HTTP proxy.
@Suite(.timeLimit(.minutes(5))) struct ProxyTests {
    private static let resource = Resource(size: 200_000)
    /// Base64 of ada:hunter2.
    private static let basic = "Basic YWRhOmh1bnRlcjI="
    private let authority: DevelopmentCA

    init() throws { authority = try DevelopmentCA() }

    private func proxies(_ port: Int, _ credentials: String = "") throws -> ProxySettings {
        let proxy = try ProxySettings.Proxy("http://\(credentials)127.0.0.1:\(port)")
        return ProxySettings(http: proxy, https: proxy)
    }

    @Test func `a proxy forwards http requests, and gets the absolute URL and its own credentials`() async throws {
        let folder = try Folder()
        try await Script { request in
            request.ordinal == 0 ? Self.resource.serve(request, upTo: 60_000) : Self.resource.serve(request)
        }.serve { proxy in
            let settings = try proxies(proxy.port, "ada:hunter2@")
            let url = "http://files.example:8080/a/file.bin?x=1"
            let done = await attempt(DownloadRequest(url: url), to: folder.destination) { $0.proxies = settings }
            #expect(done.error == nil)
            #expect(folder.file == Self.resource.content)
            #expect(proxy.requests.map(\.target) == [url, url])
            #expect(proxy.requests.map { $0.fields["host"] } == ["files.example:8080", "files.example:8080"])
            #expect(proxy.requests.map { $0.fields["proxy-authorization"] } == [Self.basic, Self.basic])
        }
    }

    @Test func `an upload is forwarded too`() async throws {
        let bytes = testBytes(100_000)
        try await withUploadServer(.dialect(.v10)) { server in
            let settings = try proxies(server.port)
            let folder = try UploadFolder(bytes)
            let done = await upload(folder, folder.request("http://files.example/target")) { $0.proxies = settings }
            #expect(done.error == nil)
            #expect(server.delivered == [bytes])
            // The host doesn't resolve, so only the proxy can have forwarded the request.
            #expect(server.requests.first?.path == "/target")
        }
    }

    @Test func `https goes through a tunnel, which the proxy's credentials open and the server doesn't see`()
        async throws
    {
        let folder = try Folder()
        try await Script { request in
            request.ordinal == 0 ? Self.resource.serve(request, upTo: 60_000) : Self.resource.serve(request)
        }.serve(over: authority.serverContext()) { server in
            try await TunnelProxy.serve { proxy in
                let (settings, tls) = (try proxies(proxy.port, "ada:hunter2@"), try authority.trusting())
                let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                    $0.proxies = settings
                    $0.tls = tls
                }
                #expect(done.error == nil)
                #expect(done.resumedAt == [60_000])
                #expect(folder.file == Self.resource.content)
                #expect(proxy.requests.count == 2)
                let head = proxy.requests.first ?? ""
                #expect(head.hasPrefix("CONNECT 127.0.0.1:\(server.port) HTTP/1.1\r\n"))
                #expect(head.contains("\r\nHost: 127.0.0.1:\(server.port)\r\n"))
                #expect(head.contains("\r\nProxy-Authorization: \(Self.basic)\r\n"))
                #expect(server.requests.allSatisfy { $0.fields["proxy-authorization"] == nil })
            }
        }
    }

    @Test func `a proxy that requires credentials is a permanent failure that names its challenge`() async throws {
        let folder = try Folder()
        try await TunnelProxy.serve { _ in
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"office\"\r\nContent-Length: 0\r\n\r\n"
        } _: { proxy in
            let (settings, tls) = (try proxies(proxy.port), try authority.trusting())
            let done = await attempt(DownloadRequest(url: "https://127.0.0.1:1/"), to: folder.destination) {
                $0.proxies = settings
                $0.tls = tls
            }
            #expect(done.unauthorized?.challenge.isFromProxy == true)
            #expect(done.unauthorized?.challenge.realm == "office")
            #expect(proxy.requests.count == 1)
        }
    }

    @Test func `a proxy that refuses temporarily is retried, and its status is reported`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve(over: authority.serverContext()) { server in
            try await TunnelProxy.serve { ordinal in
                switch ordinal {
                case 0: "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
                case 1: ""
                case 2: "HTTP/1.1 100 Continue\r\n\r\nnonsense\r\n\r\n"
                default: nil
                }
            } _: { proxy in
                let (settings, tls) = (try proxies(proxy.port), try authority.trusting())
                let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                    $0.proxies = settings
                    $0.tls = tls
                }
                #expect(done.error == nil)
                #expect(folder.file == Self.resource.content)
                let transientFailures = done.transientFailures.map(\.description)
                #expect(transientFailures.count == 3)
                #expect(transientFailures.first?.contains("the proxy 127.0.0.1:\(proxy.port) answered 503") == true)
            }
        }
    }

    @Test func `a silent proxy is abandoned within the limit for connecting`() async throws {
        let folder = try Folder()
        try await Script { _ in [.stall] }.serve { proxy in
            let (settings, tls) = (try proxies(proxy.port), try authority.trusting())
            let done = await attempt(DownloadRequest(url: "https://files.example/"), to: folder.destination) {
                $0.proxies = settings
                $0.tls = tls
                $0.connectLimit = .milliseconds(300)
                $0.retry.maximumAttempts = 2
            }
            #expect(done.error == .gaveUp(.attempts(2), .connectTimedOut))
        }
    }

    @Test func `excepted hosts are contacted directly`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve { server in
            let proxy = try ProxySettings.Proxy("127.0.0.1:1")
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                $0.proxies = ProxySettings(http: proxy, exceptions: "example.com,127.0.0.1")
            }
            #expect(done.error == nil)
        }
    }

    @Test func `a download and an upload that need a socks5 proxy fail as invalid, before they connect`() async throws {
        let folder = try Folder()
        let settings = ProxySettings(environment: ["ALL_PROXY": "socks5://127.0.0.1:1"])
        let problem = ProxyProblem.unknownScheme("socks5")
        let done = await attempt(DownloadRequest(url: "http://files.example/a"), to: folder.destination) {
            $0.proxies = settings
        }
        #expect(done.error == .invalidProxy(problem))
        #expect(done.error?.disposition == .invalidInput)
        let source = try UploadFolder([1, 2, 3])
        let sent = await upload(source, source.request("http://files.example/target")) { $0.proxies = settings }
        #expect(sent.error == .invalidProxy(problem))
        #expect(sent.error?.disposition == .invalidInput)
        try await Script { Self.resource.serve($0) }.serve { server in
            let direct = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                $0.proxies = settings
            }
            #expect(direct.error == nil)
        }
    }

    @Test(arguments: ["http", "https"])
    func `a proxy that can't be reached is named`(scheme: String) async throws {
        let folder = try Folder()
        // Nothing listens on port 1.
        let (settings, tls) = (try proxies(1), try authority.trusting())
        let done = await attempt(DownloadRequest(url: "\(scheme)://files.example/"), to: folder.destination) {
            $0.proxies = settings
            $0.tls = tls
            $0.retry.maximumAttempts = 1
        }
        guard case .gaveUp(.attempts(1), .connectFailed(let words)) = done.error else {
            Issue.record("\(done.result)")
            return
        }
        #expect(words.hasPrefix("the proxy 127.0.0.1:1 can't be reached: Connection refused"), "\(words)")
    }
}
