import HTTPTypes
import Testing
import TransferClient
import TransferProtocol

/// Codes are stable for programs; these tables pin them.
struct FailureCodeTests {
    @Test(
        arguments: [
            (.invalidURL("x", .noScheme), "invalid-url", false), (.invalidDigest(count: 1), "invalid-request", false),
            (.invalidCredentials("why"), "invalid-request", false),
            (.invalidTLSSettings(.keyMismatch), "invalid-tls-settings", false),
            (.invalidFile("/x", "why"), "invalid-file", false), (.locked("/x"), "locked", true),
            (.fileSystem(call: "open", path: "/x", .noSpace), "file-system", true),
            (.fileSystem(call: "open", path: "/x", .ioError), "file-system", false),
            (.refused(.status(404)), "refused", false), (.tooManyRedirections(10), "redirection", false),
            (.refused(.redirection(status: 302)), "redirection", false),
            (.invalidRedirection("x", .noHost), "redirection", false),
            (.gaveUp(.attempts(1), .stalled), "gave-up", true),
            (.tooManyRestarts(10, .rangeIgnored), "too-many-restarts", true),
            (.digestMissing(file: "/x"), "digest-mismatch", false), (.unproved(.lengthUnknown), "unproved", false),
            (.cancelled, "cancelled", true),
        ] as [(TransferError, String, Bool)]
    )
    func `the code of a download's failure is stable, and says whether it can be resumed`(
        error: TransferError,
        code: String,
        isResumable: Bool
    ) {
        #expect(error.code.rawValue == code)
        #expect(error.isResumable == isResumable)
    }

    @Test(
        arguments: [
            (.invalidFile("/x", "why"), "invalid-file", false), (.sourceChanged("/x"), "file-changed", true),
            (.refused(.status(404)), "refused", false), (.refused(.uploadRefused(status: 403)), "refused", true),
            (.refused(.redirection(status: 302)), "redirection", false),
            (.gaveUp(.attempts(1), .noProgress), "gave-up", true),
            (.digestRejected(sent: [], received: []), "digest-mismatch", false), (.cancelled, "cancelled", true),
        ] as [(TransferError, String, Bool)]
    )
    func `the code of an upload's failure is stable, and says whether it can be resumed`(
        error: TransferError,
        code: String,
        isResumable: Bool
    ) {
        #expect(error.code.rawValue == code)
        #expect(error.isResumable == isResumable)
    }

    @Test(arguments: [401, 407])
    func `refused credentials have a code and the status of the response, and others may resume`(status: Int) {
        let error = TransferError.refused(.unauthorized(HTTPChallenge(status: status, [:]), .none))
        #expect(error.code == .unauthorized)
        #expect(error.isResumable)
        #expect(error.status == status)
    }

    private static let transientFailures: [(TransientFailure, String)] = [
        (.connectFailed("x"), "connect-failed"),
        (.unreachable("x"), "unreachable"), (.connectTimedOut, "connect-timed-out"),
        (.connectionLost("x"), "connection-lost"), (.firstByteTimedOut, "response-timed-out"),
        (.stalled, "stalled"), (.deadlineExceeded, "out-of-time"),
        (.malformedResponse("x"), "malformed-response"), (.status(503), "status"),
        (.rejected(.multipart), "response-rejected"), (.bodyTooShort, "body-too-short"),
        (.partialOnly, "part-only"), (.representationChanged, "representation-changed"),
        (.differentURL, "different-url"), (.completenessUnknown, "completeness-unknown"),
        (.receivedBytesDamaged, "held-bytes-damaged"),
        (.noOffset, "no-offset"),
        (.noProgress, "no-progress"), (.uploadGone, "upload-gone"), (.uploadExpired, "upload-expired"),
        (.smallerRequests, "smaller-requests"), (.differentDialect(nil), "other-dialect"),
    ]

    @Test(arguments: FailureCodeTests.transientFailures) func `the code of a cause is stable`(
        cause: TransientFailure,
        code: String
    ) {
        #expect(cause.code == code)
    }

    @Test func `codes are words in lower case, and reasons to start over have some as well`() {
        let restarts: [RestartReason] = [
            .representationChanged, .rangeIgnored, .rangeUnusable(.multipart), .digestMismatch,
            .journalUnusable, .differentURL, .uploadGone, .sourceChanged, .differentDialect,
        ]
        for codes in [TransferFailureCode.allCases.map(\.rawValue), restarts.map(\.code)] {
            #expect(codes.allSatisfy { $0.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil })
            #expect(Set(codes).count == codes.count)
        }
    }
}
