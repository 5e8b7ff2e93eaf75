import HTTPTransport
import Testing
import TransferClient
import TransferProtocol

@testable import TransferReports

struct TransferAdviceTests {
    @Test(
        arguments: [
            (.gaveUp(.attempts(10), .stalled), "run it again to continue"),
            (.digestMissing(file: "/x"), "--sha256"),
            (.unproved(.lengthUnknown), "leave --require-proof out"),
            (.locked("/x"), "choose another destination"),
            (.refused(.contentEncoding("gzip")), "curl --compressed"),
            (.invalidURL("http://a@b/", .userInformation), "--user"),
            (.fileSystem(call: "pwrite", path: "/x", .noSpace), "make room and run it again"),
            (.fileSystem(call: "open", path: "/x", .permissionDenied), "check the permissions"),
            (.fileSystem(call: "stat", path: "/x", .tooManySymbolicLinkLevels), "replace the link"),
            (.fileSystem(call: "stat", path: "/x", .fileNameTooLong), "choose a shorter name"),
            (.tooManyRestarts(10, .rangeIgnored), "run it again later"),
            (.invalidTLSSettings(.unavailable), "make build"),
            (.tlsRefused(host: "127.0.0.1", TLSFailure(kind: .untrusted, reason: "")), "such as localhost"),
            (.tlsRefused(host: "::1", TLSFailure(kind: .untrusted, reason: "")), "such as localhost"),
            (.tlsRefused(host: "a_b.test", TLSFailure(kind: .invalidName, reason: "")), "another name"),
        ] as [(TransferError, String)]
    )
    func `a download that fails says what to do on the command line`(error: TransferError, advice: String) {
        #expect(error.sentence.hasPrefix(error.description + "; "))
        #expect(error.sentence.contains(advice))
        #expect(!error.description.contains(advice))
    }

    @Test(
        arguments: [
            (.gaveUp(.attempts(10), .noProgress), "run it again to continue"),
            (.refused(.dialectRefused(6)), "use --dialect 6 or auto"),
            (.refused(.dialectRefused(nil)), "use --dialect auto"),
            (.refused(.notRepeatable(.noProgress)), "--repeatable"),
            (.refused(.redirection(status: 302, to: "http://x/")), "upload to that URL"),
            (.refused(.redirection(status: 302)), "check the URL"),
            (.refused(.uploadRefused(status: 403, journal: "/j/1")), "run it again to continue, or remove “/j/1”"),
            (.refused(.status(405)), "names in that folder that don't begin with a dot"),
            (.sourceChanged("/x"), "run it again to upload it anew"),
        ] as [(TransferError, String)]
    )
    func `an upload that fails says what to do on the command line`(error: TransferError, advice: String) {
        #expect(error.sentence.hasPrefix(error.description + "; "))
        #expect(error.sentence.contains(advice))
        #expect(!error.description.contains("--"))
    }
}
