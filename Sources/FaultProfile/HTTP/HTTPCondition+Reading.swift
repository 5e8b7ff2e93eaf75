import Units

extension HTTPCondition {
    static let table = ObjectTable(
        HTTPCondition(),
        title: "“http”",
        definition: "httpCondition",
        texts: """
            method: method of the request, case-sensitive
            path: path of the request; with its query if the pattern has a `?`
            header: fields that the request must have, with these values; names are case-insensitive
            status: status of the response; not with `"stream": "upstream"`
            request: number of the request on its connection, from 1
            chance: drawn once for each request and its response
            """,
        [
            .optional("method", \.method, .text(.token), fallback: "any"),
            .optional("path", \.path, path, fallback: "any"),
            .optional("header", \.fields, header, default: [], fallback: "any"),
            .optional("status", \.status, status, fallback: "any"),
            .optional("request", \.requests, .ordinals, default: .all, fallback: "all"),
            .optional("chance", \.chance, .chance, default: .always),
        ]
    )

    private static let path = Form(
        .textPattern,
        read: { Form.text().read($0, $1, &$2).map(TextPattern.init) },
        write: { .text($0.text) }
    )
    private static let header = Form<[FieldPattern]>(
        .fieldPatterns,
        read: { node, key, decoder in
            decoder.httpFields(node, key: key).map { FieldPattern(name: $0.name, value: TextPattern($0.value)) }
        },
        write: { .object($0.map { (key: $0.name, value: .text($0.value.text)) }) }
    )
    private static let status = Form<StatusSelection>.status(.status, in: 100...599)

    /// Reports a method or a path that no request has.
    static func check(_ condition: HTTPCondition, _ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        if let method = condition.method, !method.isToken {
            decoder.report(
                "\(method.quoted) is no value of “method”",
                remedy: "write letters, digits and “-”, without spaces",
                at: object.place(of: "method")
            )
        }
        if let path = condition.path?.text,
            path.hasSpaceOrControl || !path.hasPrefix("/") && !path.hasPrefix("*")
        {
            decoder.report(
                "\(path.quoted) is no path",
                remedy: "begin it with “/”, as “/files/*”, and write no spaces",
                at: object.place(of: "path")
            )
        }
    }

    /// Reports what is wrong with this condition on a fault of this kind and stream.
    func check(_ kind: FaultKind, stream: StreamSelection, at place: SourcePlace, _ decoder: inout ProfileDecoder) {
        if let reason = kind.base == .wire ? OffsetBase.reasonAgainstMessages : kind.definition.reasonAgainstMessages {
            decoder.report(
                "“http” can't narrow \(kind.name.title): \(reason)",
                remedy: "delete “http” from “when”",
                at: place
            )
        } else if status != nil, stream == .upstream {
            decoder.report(
                "“status” tells of responses, and this fault acts on the stream of requests",
                remedy: "write “\"stream\": \"downstream\"”, or delete “status”",
                at: place
            )
        } else if status != nil, case .http(.answer) = kind {
            decoder.report(
                "an answer is given before there is a response whose “status” could be known",
                remedy: "delete “status”",
                at: place
            )
        } else if let status, case .http(.drop(let codes)) = kind, !codes.dropsAny(of: status) {
            decoder.report(
                "no response that is dropped has the “status” of this condition",
                remedy: "delete “status”: “drop” says the codes",
                at: place
            )
        }
    }
}

extension StatusSelection {
    /// Whether any of `others` is among these codes, except 101, which is never dropped.
    fileprivate func dropsAny(of others: StatusSelection) -> Bool {
        range.contains { $0 != 101 && others.range.contains($0) }
    }
}

extension Form<StatusSelection> {
    /// Codes from a range: `503`, `"5xx"`, `"500..504"`.
    static func status(_ shape: ValueForm, in allowed: ClosedRange<Int>) -> Form {
        Form(
            shape,
            read: { node, _, decoder in decoder.status(node, in: allowed) },
            write: { $0.range.count == 1 ? .number(UInt64($0.range.lowerBound)) : .text($0.text) }
        )
    }
}

extension ProfileDecoder {
    /// A status code, or codes: 503, “5xx”, “500..504”.
    fileprivate mutating func status(_ node: JSONNode, in allowed: ClosedRange<Int>) -> StatusSelection? {
        let (low, high) = (allowed.lowerBound, allowed.upperBound)
        let remedy = "write \(high < 200 ? "104 or “1xx”" : "503, “5xx” or “500..504”")"
        switch node.value {
        case .number:
            return wholeNumber(node, key: "status", in: UInt64(low)...UInt64(high)).map {
                StatusSelection(Int($0)...Int($0))
            }
        case .text(let text):
            if let range = ProfileDecoder.statuses(text), allowed.contains(range.lowerBound),
                allowed.contains(range.upperBound)
            {
                return StatusSelection(range)
            }
            if Int(text).map(allowed.contains) == true {
                report("\(text.quoted) is text, and a code is a number", remedy: "write \(text)", at: node.place)
            } else {
                report("\(text.quoted) are no codes from \(low) to \(high)", remedy: remedy, at: node.place)
            }
            return nil
        case .object, .array, .boolean, .null, .unreadable:
            reportType(of: node, expected: "a status code, or codes", key: "status", remedy: remedy)
            return nil
        }
    }

    private static func statuses(_ text: String) -> ClosedRange<Int>? {
        if text.utf8.count == 3, text.hasSuffix("xx"), let hundreds = text.first?.wholeNumberValue {
            return hundreds * 100...hundreds * 100 + 99
        }
        let halves = text.split(separator: ".", omittingEmptySubsequences: false)
        // Int takes a sign and zeros in front as well.
        guard halves.count == 3, halves[0].utf8.count == 3, halves[1].isEmpty, halves[2].utf8.count == 3,
            text.utf8.allSatisfy({ (48...57).contains($0) || $0 == UInt8(ascii: ".") }),
            let low = Int(halves[0]), let high = Int(halves[2]), low <= high
        else { return nil }
        return low...high
    }

    /// Reads an object of field names and texts.
    mutating func httpFields(_ node: JSONNode, key: String) -> [(name: String, value: String)] {
        guard case .object(let members) = node.value else {
            reportType(
                of: node,
                expected: "an object",
                key: key,
                remedy: "write fields by their names: “{ \"Retry-After\": \"2\" }”"
            )
            return []
        }
        if members.count > ProfileLimits.httpFields {
            report(
                "\(key.quoted) has \(members.count) fields, more than \(ProfileLimits.httpFields)",
                remedy: "delete some",
                at: node.place
            )
            return []
        }
        var fields: [(name: String, value: String)] = []
        for member in members {
            guard case .text(let value) = member.node.value, member.key.isToken, value.isFieldValue else {
                report(
                    "\(member.key.quoted) is no field with a text on one line as its value",
                    remedy: "write it as “\"Retry-After\": \"2\"”",
                    at: member.node.place
                )
                continue
            }
            checkLength(of: member.key, ProfileLimits.nameLength, what: "the field's name", at: member.place)
            checkLength(of: value, ProfileLimits.textLength, what: "the field's value", at: member.node.place)
            fields.append((member.key, value))
        }
        return fields
    }

    private mutating func checkLength(of text: String, _ limit: Int, what: String, at place: SourcePlace) {
        guard text.utf8.count > limit else { return }
        report("\(what) has \(text.utf8.count) bytes, more than \(limit)", remedy: "shorten it", at: place)
    }
}

extension String {
    /// Whether this is a token (RFC 9110, section 5.6.2).
    var isToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// Whether there is a space or a control character in it, as in no target of a request.
    fileprivate var hasSpaceOrControl: Bool {
        unicodeScalars.contains { $0 == " " || $0.properties.generalCategory == .control }
    }

    /// Whether this can be the value of a field: no control character but the tab (RFC 9110, section 5.5).
    fileprivate var isFieldValue: Bool { utf8.allSatisfy { $0 == 9 || $0 >= 0x20 && $0 != 0x7F } }
}
