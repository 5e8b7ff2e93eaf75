import DevelopmentCA
import HTTPTransport
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
