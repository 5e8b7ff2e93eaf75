import Testing
import TransferClient
import TransferProtocol

@testable import TransferQueue

/// What a queue makes of the events and the end of a run.
@Suite struct QueueRunTests {
    @Test func `a failure says what a job waits for`() {
        func reason(_ error: TransferError) -> QueueReason? {
            switch error.outcome(hasProgressed: false) {
            case .retry(let reason, _, _, _, _), .needs(let reason, _), .failed(let reason, _): reason
            case .completed, .stopped: nil
            }
        }
        #expect(reason(.fileSystem(call: "pwrite", path: "/file", .noSpace)) == .diskFull)
        #expect(reason(.fileSystem(call: "open", path: "/file", .readOnlyFileSystem)) == .folder)
        #expect(reason(.fileSystem(call: "stat", path: "/file", .tooManySymbolicLinkLevels)) == .invalid)
        #expect(reason(.refused(.status(410))) == .url)
        #expect(reason(.refused(.status(404))) == .refused)
        #expect(reason(.locked("/file")) == .locked)
        #expect(reason(.cancelled) == nil)
        let full = TransferError.fileSystem(call: "pwrite", path: "/log", .noSpace)
        guard case .retry(_, _, _, _, mayBeRepeated: false) = full.outcome(hasProgressed: true, hasSent: true) else {
            Issue.record("a POST whose answer can't be written is sent again")
            return
        }
        let redirection = TransferError.invalidRedirection("gopher://host/secret", .unknownScheme("gopher"))
        #expect(reason(redirection) == .refused)
        #expect(!"\(redirection.outcome(hasProgressed: false))".contains("secret"))
    }

    @Test func `bytes that a run gets again are no progress`() {
        let tracker = ProgressTracker()
        func hasProgressed(_ events: TransferEvent...) -> Bool {
            for event in events { _ = tracker.note(event) }
            return tracker.hasProgressed
        }
        #expect(!hasProgressed(.started(completed: 100), .resumed(offset: 100), .progress(completed: 100, total: 200)))
        #expect(!hasProgressed(.restarted(.sourceChanged), .progress(completed: 99, total: 200)))
        #expect(!hasProgressed(.restarted(.sourceChanged), .progress(completed: 100, total: 200)))
        #expect(hasProgressed(.progress(completed: 101, total: 200)))
        let outcome = TransferError.tooManyRestarts(10, .sourceChanged).outcome(hasProgressed: true)
        guard case .retry(.retry, _, hasProgressed: false, _, _) = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test(arguments: [("http://host", "plain"), ("https://host", "secure"), ("https://[::1]", "::1")])
    func `the next hop of a job is the proxy of its scheme`(origin: String, hop: String) {
        let environment = ["http_proxy": "http://plain:1", "https_proxy": "http://secure:1", "no_proxy": "::1"]
        let transfers = QueueTransfers(uploads: "/", tls: nil, proxies: ProxySettings(environment: environment))
        #expect(transfers.nextHop(to: origin) == hop)
    }
}
