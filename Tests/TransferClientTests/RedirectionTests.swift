import DevelopmentCA
import HTTPTransport
import Synchronization
import TestStreams
import Testing
import TransferClient
import TransferProtocol

/// Downloads redirected to a URL that served bytes once and then fails.
@Suite(.timeLimit(.minutes(5))) struct RedirectionTests {
    private static let resource = Resource(size: 200_000)

    /// The response of the last URL to the next range request.
    enum Dead: CaseIterable, Sendable {
        case circle
        case invalidTarget
        case noTarget
        case contentCoding
        case untrusted

        func response(_ request: ReceivedRequest, secure: String) -> [Step] {
            switch self {
            case .circle: [.head(302, ["Location: \(request.target)", "Content-Length: 0"])]
            case .invalidTarget: [.head(302, ["Location: http://ada@127.0.0.1/", "Content-Length: 0"])]
            case .noTarget: [.head(302, ["Content-Length: 0"])]
            case .contentCoding: [.head(206, ["Content-Encoding: gzip", "Content-Length: 0"])]
            case .untrusted: [.head(302, ["Location: \(secure)", "Content-Length: 0"])]
            }
        }
    }

    /// After the first response the server redirects to a login page, to one of HTML more often than to one without a type.
    @Test(arguments: [("Content-Type: text/html", 4), ("X-Type: none", 3)])
    func `a download whose digest the caller knows outlives a login page`(type: String, logins most: Int) async throws {
        let page = Array("<html>Log in</html>".utf8)
        let logins = Mutex(0)
        let (done, folder, requests) = try await download(expecting: Self.resource.sha256) { request in
            if request.target == "/login" {
                return [.head(200, [type, "Content-Length: \(page.count)"]), .send(page)]
            }
            if request.ordinal == 0 { return Self.resource.serve(request, upTo: 120_000) }
            let isCaptive = logins.withLock { count in
                count += 1
                return count <= most
            }
            return isCaptive
                ? [.head(302, ["Location: /login", "Content-Length: 0"])] : Self.resource.serve(request)
        }
        #expect(done.error == nil)
        #expect(folder.file == Self.resource.content)
        let isPage = type.hasSuffix("html")
        #expect(done.resumedAt == (isPage ? [120_000] : []))
        #expect(done.transientFailures.count { $0 == .rejected(.otherFile) } == (isPage ? 4 : 2))
        #expect(done.restarts.count == (isPage ? 0 : 2))
        #expect(requests.count { $0.target == "/login" } == most)
    }

    /// The download resumes at the original URL, in the same run and in the next.
    @Test(arguments: Dead.allCases, [false, true])
    func `a redirected URL that keeps failing is abandoned for the original one`(dead: Dead, isLaterRun: Bool)
        async throws
    {
        let folder = try Folder()
        let (ours, theirs) = (try DevelopmentCA(), try DevelopmentCA())
        try await Script { _ in [] }.serve(over: theirs.serverContext()) { untrusted in
            let secure = untrusted.url()
            try await Script { request in
                switch request.target {
                case "/m?1" where request.ordinal == 1: Self.resource.serve(request, upTo: 120_000)
                case "/m?1": dead.response(request, secure: secure)
                case "/m?2": Self.resource.serve(request)
                default: [.head(302, ["Location: /m?\(request.ordinal == 0 ? 1 : 2)", "Content-Length: 0"])]
                }
            }.serve { server in
                let settings = try ours.trusting()
                if isLaterRun {
                    let first = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                        $0.retry.maximumAttempts = 1
                    }
                    #expect(first.error?.disposition == .resumable)
                }
                let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                    $0.tls = settings
                }
                #expect(done.error == nil)
                #expect(done.resumedAt == [120_000])
                let isComplete = folder.file == Self.resource.content
                #expect(isComplete)
            }
        }
    }
}
