import HTTPSemantics
import Testing

@Suite struct ProblemDetailsTests {
    private static let base = "https://iana.org/assignments/http-problem-types"

    @Test(
        arguments: [.mismatchingOffset(expected: 7, provided: 9), .inconsistentLength, .completedUpload]
            as [ProblemDetails]
    )
    func `a problem is read as it was written`(_ problem: ProblemDetails) {
        #expect(ProblemDetails(json: problem.json) == problem)
        #expect(problem.status == (problem == .mismatchingOffset(expected: 7, provided: 9) ? 409 : 400))
    }

    @Test func `a mismatching offset names both offsets`() {
        let text = String(decoding: ProblemDetails.mismatchingOffset(expected: 7, provided: 9).json, as: UTF8.self)
        #expect(
            text == """
                {"expected-offset":7,"provided-offset":9,"status":409,\
                "title":"The offset in the request isn't the upload's",\
                "type":"\(Self.base)#mismatching-upload-offset"}
                """
        )
    }

    @Test(
        arguments: [
            "", "{}", "[]", "null", "{\"type\":7}", "{\"type\":\"about:blank\"}",
            "{\"type\":\"\(base)#mismatching-upload-offset\"}",
            "{\"type\":\"\(base)#mismatching-upload-offset\",\"expected-offset\":-1,\"provided-offset\":0}",
            "{\"type\":\"\(base)#mismatching-upload-offset\",\"expected-offset\":\"1\",\"provided-offset\":0}",
            "{\"type\":\"\(base)#completed-upload\"",
        ]
    )
    func `anything else is no problem of an upload`(_ text: String) {
        #expect(ProblemDetails(json: Array(text.utf8)) == nil)
    }

    @Test func `a text at the limit is read, and a longer one isn't`() {
        let text = "{\"type\":\"\(Self.base)#completed-upload\"}"
        let padded = text + String(repeating: " ", count: ProblemDetails.maximumSize - text.utf8.count)
        #expect(ProblemDetails(json: Array(padded.utf8)) == .completedUpload)
        #expect(ProblemDetails(json: Array((padded + " ").utf8)) == nil)
    }
}
