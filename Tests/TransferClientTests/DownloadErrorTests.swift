import SystemPackage
import Testing
import TransferClient
import TransferProtocol

@Suite(.timeLimit(.minutes(5))) struct DownloadErrorTests {
    @Test(
        arguments: [
            (DownloadError.fileSystem(call: "pwrite", path: "/x", .noSpace), .resumable),
            (.fileSystem(call: "pwrite", path: "/x", .diskQuotaExceeded), .resumable),
            (.fileSystem(call: "fdatasync", path: "/x", .ioError), .final),
            (.fileSystem(call: "open", path: "/x", .permissionDenied), .invalidInput),
            (.gaveUp(.attempts(10), .stalled), .resumable),
            (.cancelled, .resumable),
            (.locked("/x"), .resumable),
            (.refused(.status(404)), .final),
            (.tooManyRedirections(10), .final),
            (.invalidURL("x", .noScheme), .invalidInput),
            (.invalidTLSSettings(.otherKey), .invalidInput),
        ] as [(DownloadError, DownloadError.Disposition)]
    )
    func `an error tells whether it can be resumed`(error: DownloadError, disposition: DownloadError.Disposition) {
        #expect(error.disposition == disposition)
    }

    @Test func `an error of the system names the call, the path, the errno and what to do`() {
        let error = DownloadError.fileSystem(call: "pwrite", path: "/x/y", .noSpace)
        #expect(error.description.contains("pwrite(/x/y)"))
        #expect(error.description.contains("errno 28"))
        #expect(error.description.contains("make room"))
    }

    @Test func `what was given up says why, and how to go on`() {
        let error = DownloadError.gaveUp(.attempts(10), .connectionLost("reset"))
        #expect(error.description.contains("10 attempts"))
        #expect(error.description.contains("reset"))
        #expect(error.description.contains("run it again"))
    }

    /// Ways to write a password into a URL, most of them wrong: `#`, `/` and `@` are to be encoded in one.
    @Test(arguments: [
        "http://user:secret@host/", "HTTP://user:secret@host/", "https://secret@host/", "//user:secret@host/",
        "ftp://user:secret@host/", "http://user:secret/x@host/", "http://user:x/secret@host/", "http://a@secret@host/",
        "secret:x@host/", "user:x//secret@host/", "http://secret x:y/z@host/", "http://u:secret#x@host/",
        "http://u:secret@\u{301}host/",
    ])
    func `what stands in front of an at sign is not shown`(url: String) throws {
        let problem = try #require(throws: DownloadURLProblem.self) { try DownloadURL(url) }
        for error in [DownloadError.invalidURL(url, problem), .invalidRedirection(url, problem)] {
            #expect(!error.description.contains("secret"))
            #expect(error.description.contains("host/"))
        }
        #expect(!DownloadError.invalidURL(url, problem).description.contains("user:"))
    }

    @Test func `what a server sends is shown on one line, without controls, and cut`() {
        let text = "a\u{1B}[2J\u{9B}31m\r\n" + String(repeating: "x", count: 20_000)
        let errors: [DownloadError] = [
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

    @Test func `another digest is told with whose it is`() {
        let asked = DownloadError.digestMismatch(.caller, expected: [0xAB], actual: [1], file: "/x/.f.squall-mismatch")
        #expect(asked.description.contains("is 01, and the digest asked for is ab;"))
        let told = DownloadError.digestMismatch(.server, expected: [0xAB], actual: [1], file: "/x/.f.squall-mismatch")
        #expect(told.description.contains("is 01, and the server says ab;"))
    }

    @Test func `a coding is refused with what a person can do about it`() {
        let shown = DownloadError.refused(.contentEncoding("gzip")).description
        #expect(shown.contains("“gzip”"))
        #expect(shown.contains("curl --compressed"))
    }

    @Test(
        arguments: [
            .cancelled, .gaveUp(.attempts(10), .stalled), .fileSystem(call: "pwrite", path: "/x", .noSpace),
            .tooManyRestarts(10, .rangeIgnored),
        ] as [DownloadError]
    )
    func `the reason alone doesn't say to run it again`(error: DownloadError) {
        #expect(error.description.hasPrefix(error.reason + "; "))
        #expect(error.description.contains("run it again"))
        #expect(!error.reason.contains("again"))
    }
}
