import SystemPackage
import Testing
import TransferClient
import TransferProtocol

@Suite(.timeLimit(.minutes(5))) struct TransferErrorTests {
    @Test(
        arguments: [
            (TransferError.fileSystem(call: "pwrite", path: "/x", .noSpace), .resumable),
            (.fileSystem(call: "pwrite", path: "/x", .diskQuotaExceeded), .resumable),
            (.fileSystem(call: "fdatasync", path: "/x", .ioError), .final),
            (.fileSystem(call: "open", path: "/x", .permissionDenied), .invalidInput),
            (.gaveUp(.attempts(10), .stalled), .resumable),
            (.cancelled, .resumable),
            (.locked("/x"), .resumable),
            (.refused(.status(404)), .final),
            (.tooManyRedirections(10), .final),
            (.invalidURL("x", .noScheme), .invalidInput),
            (.invalidTLSSettings(.keyMismatch), .invalidInput),
        ] as [(TransferError, TransferError.Disposition)]
    )
    func `an error says whether it can be resumed`(error: TransferError, disposition: TransferError.Disposition) {
        #expect(error.disposition == disposition)
    }

    @Test func `an error of the system names the call, the path and the errno`() {
        let error = TransferError.fileSystem(call: "pwrite", path: "/x/y", .noSpace)
        #expect(error.description.contains("pwrite(/x/y)"))
        #expect(error.description.contains("errno 28"))
    }

    @Test func `a transfer that gave up says why`() {
        let error = TransferError.gaveUp(.attempts(10), .connectionLost("reset"))
        #expect(error.description.contains("10 attempts"))
        #expect(error.description.contains("reset"))
    }

    /// Ways to write a password into a URL, most of them invalid: `#`, `/` and `@` must be encoded.
    @Test(arguments: [
        "http://user:secret@host/", "HTTP://user:secret@host/", "https://secret@host/", "//user:secret@host/",
        "ftp://user:secret@host/", "http://user:secret/x@host/", "http://user:x/secret@host/", "http://a@secret@host/",
        "secret:x@host/", "user:x//secret@host/", "http://secret x:y/z@host/", "http://u:secret#x@host/",
        "http://u:secret@\u{301}host/",
    ])
    func `userinfo before an at sign is not shown`(url: String) throws {
        let problem = try #require(throws: TransferURLProblem.self) { try TransferURL(url) }
        for error in [TransferError.invalidURL(url, problem), .invalidRedirection(url, problem)] {
            #expect(!error.description.contains("secret"))
            #expect(error.description.contains("host/"))
        }
        #expect(!TransferError.invalidURL(url, problem).description.contains("user:"))
    }

    @Test func `what a server sends is shown on one line, without controls, and cut`() {
        let text = "a\u{1B}[2J\u{9B}31m\r\n" + String(repeating: "x", count: 20_000)
        let errors: [TransferError] = [
            .invalidRedirection(text, .controlCharacter), .refused(.contentEncoding(text)),
            .gaveUp(.attempts(1), .rejected(.transferCoding(text))),
            .tooManyRestarts(1, .rangeUnusable(.transferCoding(text))), .invalidURL(text, .tooLong),
        ]
        for error in errors {
            let shown = error.description
            #expect(shown.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
            #expect(shown.contains("a\\u{1b}[2J\\u{9b}31m\\u{d}\\u{a}x"))
            #expect(shown.count < 500)
        }
    }

    @Test(arguments: [(404, true), (403, true), (204, false), (413, false)])
    func `an answer that no other URL would change doesn't ask for one`(status: Int, asksForURL: Bool) {
        let shown = TransferError.refused(.status(status)).description
        #expect(shown.contains("the server answered \(status)") && shown.contains("check the URL") == asksForURL)
    }

    @Test func `a digest mismatch names the source of the digest`() {
        let requested = TransferError.digestMismatch(
            .caller,
            expected: [0xAB],
            actual: [1],
            file: "/x/.f.squall-mismatch"
        )
        #expect(requested.description.contains("is 01, and the digest asked for is ab;"))
        let reported = TransferError.digestMismatch(
            .server,
            expected: [0xAB],
            actual: [1],
            file: "/x/.f.squall-mismatch"
        )
        #expect(reported.description.contains("is 01, and the server says ab;"))
    }

    @Test func `a coding is refused with its name`() {
        let shown = TransferError.refused(.contentEncoding("gzip")).description
        #expect(shown.contains("“gzip”"))
    }

    @Test(
        arguments: [
            .cancelled, .gaveUp(.attempts(10), .stalled), .fileSystem(call: "pwrite", path: "/x", .noSpace),
            .tooManyRestarts(10, .rangeIgnored), .digestMissing(file: "/x"), .unproved(.lengthUnknown), .locked("/x"),
            .invalidURL("http://a@b/", .userInformation), .refused(.contentEncoding("gzip")),
        ] as [TransferError]
    )
    func `an error says nothing of commands and options`(error: TransferError) {
        for words in ["--", "run it again", "curl"] { #expect(!error.description.contains(words)) }
    }
}
