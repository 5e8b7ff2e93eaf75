import Testing
import TransferClient
import TransferProtocol

/// Codes are stable for programs; these tables pin them.
struct FailureCodeTests {
    @Test(
        arguments: [
            (.invalidURL("x", .noScheme), "invalid-url", false), (.invalidDigest(count: 1), "invalid-request", false),
            (.invalidTLSSettings(.keyMismatch), "invalid-tls-settings", false),
            (.invalidDestination("/x", "why"), "invalid-file", false), (.locked("/x"), "locked", true),
            (.fileSystem(call: "open", path: "/x", .noSpace), "file-system", true),
            (.fileSystem(call: "open", path: "/x", .ioError), "file-system", false),
            (.refused(.status(404)), "refused", false), (.tooManyRedirections(10), "redirection", false),
            (.invalidRedirection("x", .noHost), "redirection", false),
            (.gaveUp(.attempts(1), .stalled), "gave-up", true),
            (.tooManyRestarts(10, .rangeIgnored), "too-many-restarts", true),
            (.digestMissing(file: "/x"), "digest-mismatch", false), (.unproved(.lengthUnknown), "unproved", false),
            (.cancelled, "cancelled", true),
        ] as [(DownloadError, String, Bool)]
    )
    func `the code of a download's failure is stable, and says whether it can be resumed`(
        error: DownloadError,
        code: String,
        isResumable: Bool
    ) {
        #expect(error.code.rawValue == code)
        #expect(error.isResumable == isResumable)
    }

    @Test(
        arguments: [
            (.invalidSource("/x", "why"), "invalid-file", false), (.sourceChanged("/x"), "file-changed", true),
            (.refused(.refused(status: 404)), "refused", false),
            (.refused(.redirection(status: 302)), "redirection", false),
            (.gaveUp(.attempts(1), .noProgress), "gave-up", true),
            (.digestMismatch(sent: [], received: []), "digest-mismatch", false), (.cancelled, "cancelled", true),
        ] as [(UploadError, String, Bool)]
    )
    func `the code of an upload's failure is stable, and says whether it can be resumed`(
        error: UploadError,
        code: String,
        isResumable: Bool
    ) {
        #expect(error.code.rawValue == code)
        #expect(error.isResumable == isResumable)
    }

    private static let transientFailures: [(TransientUploadFailure, String)] = [
        (.transport(.connectFailed("x")), "connect-failed"),
        (.transport(.unreachable("x")), "unreachable"), (.transport(.connectTimedOut), "connect-timed-out"),
        (.transport(.connectionLost("x")), "connection-lost"), (.transport(.firstByteTimedOut), "response-timed-out"),
        (.transport(.stalled), "stalled"), (.transport(.deadlineExceeded), "out-of-time"),
        (.transport(.malformedResponse("x")), "malformed-response"), (.transport(.status(503)), "status"),
        (.transport(.rejected(.multipart)), "response-rejected"), (.transport(.bodyTooShort), "body-too-short"),
        (.transport(.partialOnly), "part-only"), (.transport(.representationChanged), "representation-changed"),
        (.transport(.differentURL), "different-url"), (.transport(.completenessUnknown), "completeness-unknown"),
        (.transport(.receivedBytesDamaged), "held-bytes-damaged"), (.status(503), "status"),
        (.noOffset, "no-offset"),
        (.noProgress, "no-progress"), (.uploadGone, "upload-gone"), (.uploadExpired, "upload-expired"),
        (.smallerRequests, "smaller-requests"), (.differentDialect(nil), "other-dialect"),
    ]

    @Test(arguments: FailureCodeTests.transientFailures) func `the code of a cause is stable`(
        cause: TransientUploadFailure,
        code: String
    ) {
        #expect(cause.code == code)
    }

    @Test func `codes are words in lower case, and reasons to start over have some as well`() {
        let restarts: [DownloadRestartReason] = [
            .representationChanged, .rangeIgnored, .rangeUnusable(.multipart), .digestMismatch,
            .journalUnusable, .differentURL,
        ]
        let uploads: [UploadRestartReason] = [.uploadGone, .sourceChanged, .differentDialect]
        for codes in [
            TransferFailureCode.allCases.map(\.rawValue), restarts.map(\.code), uploads.map(\.code),
        ] {
            #expect(codes.allSatisfy { $0.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil })
            #expect(Set(codes).count == codes.count)
        }
    }
}
