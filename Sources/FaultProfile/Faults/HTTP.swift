import Units

/// A fault of HTTP/1.1 itself, on the messages that `when.http` picks.
public enum HTTPFault: Hashable, Sendable {
    /// The request isn't forwarded: the proxy answers in the server's place and closes the connection.
    case answer(HTTPAnswer)
    /// Informational responses of these codes (100 to 199 without 101) vanish.
    case drop(StatusSelection)
}

/// The answer that the proxy gives in the server's place.
public struct HTTPAnswer: Hashable, Sendable {
    /// The status code, 200 to 599.
    public var status: Int
    /// Fields in addition to `Connection` and `Content-Length`, in order.
    public var fields: [Field] = []
    /// The content, as UTF-8; empty with 204 and 304, which have none.
    public var body = ""

    /// A field of the answer.
    public struct Field: Hashable, Sendable {
        /// The field's name: a token (RFC 9110, section 5.6.2).
        public var name: String
        /// The field's value, without line ends.
        public var value: String
    }
}

extension HTTPFault: FaultDefinition {
    static let word = "http"
    static let article = "an"
    static let summary =
        "A fault of HTTP/1.1 itself: an answer in the server's place, or a lost informational response."
    static let example = #"{ "kind": "http", "answer": { "status": 503, "header": { "Retry-After": "2" } } }"#
    static let table = ObjectTable(
        HTTPFault.drop(StatusSelection(100...100)),
        texts: """
            answer: the proxy answers in place of the server and closes the connection
            drop: informational responses of these codes vanish; 101 never does
            """,
        oneOf: (["answer", "drop"], #""answer": { "status": 503 }"#),
        rules: [("not", .requires("stream"))],
        [
            .one("answer", \.self, .object(.answer, HTTPAnswer.table, check: HTTPAnswer.check), HTTPFault.answer) {
                if case .answer(let answer) = $0 { answer } else { nil }
            },
            .one("drop", \.self, informational, HTTPFault.drop) {
                if case .drop(let codes) = $0 { codes } else { nil }
            },
        ]
    )

    private static let informational = Form.status(.informationalStatus, in: 100...199).checked { codes in
        guard codes.range == 101...101 else { return nil }
        return ("101 ends HTTP on its connection, and can't be dropped", "write another code, such as 104")
    }

    var kind: FaultKind { .http(self) }
    var figures: FaultFigures {
        switch self {
        case .answer(let answer): FaultFigures(text: "http answer \(answer.status)", isAtPosition: true)
        case .drop(let codes): FaultFigures(text: "http drop of \(codes.text)", isAtPosition: true)
        }
    }
    var isAboutMessages: Bool { true }
    var ownStream: StreamSelection? {
        switch self {
        case .answer: .upstream
        case .drop: .downstream
        }
    }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        guard context.object["stream"] != nil else { return }
        decoder.report(
            "an http fault has a direction of its own: requests are answered, responses dropped",
            remedy: "delete “stream”",
            at: context.object.place(of: "stream")
        )
    }
}

extension HTTPAnswer {
    static let table = ObjectTable(
        HTTPAnswer(status: 200),
        title: "“answer”",
        definition: "answer",
        texts: """
            status: the status code
            header: fields beside `Connection` and `Content-Length`, up to 32
            body: the content; none with 204 and 304
            """,
        rules: [
            ("if", .object([("properties", .object([("status", .object([("oneOf", .array(emptyCodes))]))]))])),
            ("then", .object([("properties", .object([("body", .object([("maxLength", .number(0))]))]))])),
        ],
        [
            .required("status", \.status, .wholeNumber(.answerStatus, in: 200...599)),
            .optional("header", \.fields, header, default: []),
            .optional("body", \.body, content, default: ""),
        ]
    )

    private static let emptyCodes = [204, 304].map { JSONText.object([("const", .number($0))]) }

    private static let header = Form<[Field]>(
        .fields,
        read: { node, key, decoder in
            decoder.httpFields(node, key: key).map { Field(name: $0.name, value: $0.value) }
        },
        write: { .object($0.map { (key: $0.name, value: .text($0.value)) }) }
    )

    private static let content = Form.text(.answerBody, limit: ProfileLimits.answerBytes)

    fileprivate static func check(_ answer: HTTPAnswer, _ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        for name in ["Content-Length", "Transfer-Encoding", "Connection"]
        where answer.fields.contains(where: { $0.name.lowercased() == name.lowercased() }) {
            decoder.report(
                "the proxy gives the field \(name.quoted) itself",
                remedy: "delete it",
                at: object.place(of: "header")
            )
        }
        if answer.body.utf8.count > ProfileLimits.answerBytes {
            decoder.report(
                "“body” has \(answer.body.utf8.count) bytes, and \(ProfileLimits.answerBytes) are the most",
                remedy: "shorten it",
                at: object.place(of: "body")
            )
        } else if [204, 304].contains(answer.status), !answer.body.isEmpty {
            decoder.report(
                "an answer with the status \(answer.status) has no content",
                remedy: "delete “body”, or write another status",
                at: object.place(of: "body")
            )
        }
    }
}
