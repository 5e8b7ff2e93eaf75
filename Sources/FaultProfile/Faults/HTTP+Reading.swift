import Units

extension ObjectShape {
    static let answer = ObjectShape(
        title: "“answer”",
        keys: [
            .required("status", .answerStatus),
            .optional("header", .fields),
            .optional("body", .answerBody),
        ]
    )
}

extension HTTPFault {
    static let keys: [KeyShape] = [
        .optional("answer", .answer),
        .optional("drop", .informationalStatus),
    ]

    /// The keys of which an http fault has exactly one.
    static let effectKeys = ["answer", "drop"]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        decoder.checkOneOf(
            HTTPFault.effectKeys,
            of: object,
            title: "an http fault",
            example: "\"answer\": { \"status\": 503 }"
        )
        if object["stream"] != nil {
            decoder.report(
                "an http fault has a direction of its own: requests are answered, responses dropped",
                remedy: "delete “stream”",
                at: object.place(of: "stream")
            )
        }
        if let node = object["answer"] {
            guard let answer = HTTPAnswer(node, &decoder) else { return nil }
            self = .answer(answer)
        } else if let node = object["drop"] {
            guard let codes = decoder.status(node, in: 100...199) else { return nil }
            if codes.range == 101...101 {
                decoder.report(
                    "101 ends HTTP on its connection, and can't be dropped",
                    remedy: "write another code, such as 104",
                    at: node.place
                )
                return nil
            }
            self = .drop(codes)
        } else {
            return nil
        }
    }
}

extension HTTPAnswer {
    fileprivate init?(_ node: JSONNode, _ decoder: inout ProfileDecoder) {
        guard let object = decoder.object(node, .answer), let status = object["status"],
            let code = decoder.wholeNumber(status, key: "status", in: 200...599)
        else { return nil }
        let fields = object["header"].map { decoder.httpFields($0, key: "header") } ?? []
        for name in ["Content-Length", "Transfer-Encoding", "Connection"]
        where fields.contains(where: { $0.name.lowercased() == name.lowercased() }) {
            decoder.report(
                "the proxy gives the field \(name.quoted) itself",
                remedy: "delete it",
                at: object.place(of: "header")
            )
            return nil
        }
        let body = object["body"].flatMap { decoder.text($0, key: "body", limit: ProfileLimits.answerBytes) } ?? ""
        guard body.utf8.count <= ProfileLimits.answerBytes else {
            decoder.report(
                "“body” has \(body.utf8.count) bytes, and \(ProfileLimits.answerBytes) are the most",
                remedy: "shorten it",
                at: object.place(of: "body")
            )
            return nil
        }
        if [204, 304].contains(code), !body.isEmpty {
            decoder.report(
                "an answer with the status \(code) has no content",
                remedy: "delete “body”, or write another status",
                at: object.place(of: "body")
            )
            return nil
        }
        self.init(
            status: Int(code),
            fields: fields.map { Field(name: $0.name, value: $0.value) },
            body: body
        )
    }
}
