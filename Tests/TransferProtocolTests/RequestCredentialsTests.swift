import HTTPSemantics
import HTTPTypes
import Testing

@testable import TransferProtocol

/// Which origins get which credentials.
@Suite struct RequestCredentialsTests {
    private static let basic = try? BasicCredentials(name: "ada", password: "hunter2")
    private static func byHost(_ host: String, _ isNamed: Bool) -> BasicCredentials? {
        switch host {
        case "a": try? BasicCredentials(name: "na", password: "hunter3")
        case "b": try? BasicCredentials(name: "nb", password: "hunter4")
        default: isNamed ? try? BasicCredentials(name: "d", password: "d") : nil
        }
    }

    private func redirects(_ urls: String...) throws -> RedirectChain {
        var redirects = RedirectChain(try TransferURL(urls[0]))
        for url in urls.dropFirst() { redirects.follow(try TransferURL(url)) }
        return redirects
    }

    /// The fields as "name: value", and whether they count as credentials.
    private func sent(_ credentials: RequestCredentials, _ redirects: RedirectChain) -> ([String], CredentialUse) {
        (
            credentials.fields(for: redirects).map { "\($0.name.canonicalName): \($0.value)" },
            credentials.use(for: redirects)
        )
    }

    @Test func `a name and a password are Base64 of UTF-8, in one field`() throws {
        // RFC 7617, sections 2 and 2.1.
        let example = try BasicCredentials(name: "Aladdin", password: "open sesame").fieldValue
        #expect(example == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(try BasicCredentials(name: "test", password: "123£").fieldValue == "Basic dGVzdDoxMjPCow==")
        #expect(try BasicCredentials(name: "", password: "a:b").fieldValue == "Basic OmE6Yg==")
        #expect(throws: CredentialProblem.colonInName) { try BasicCredentials(name: "a:b", password: "") }
        #expect(throws: CredentialProblem.controlCharacter) { try BasicCredentials(name: "a", password: "b\r\nX: y") }
        let longest = String(repeating: "x", count: BasicCredentials.maximumSize - 1)
        #expect(throws: Never.self) { try BasicCredentials(name: "a", password: longest) }
        #expect(throws: CredentialProblem.tooLong) { try BasicCredentials(name: "ab", password: longest) }
    }

    /// The targets of redirects, and whether the credentials of the first URL are sent there.
    @Test(arguments: [
        (["http://a/x"], true), (["http://a/x", "http://A:80/y?z"], true), (["http://a/x", "http://b/x"], false),
        (["http://a/x", "http://a:81/x"], false), (["http://a/x", "https://a/x"], false),
        (["https://a/x", "http://a/x"], false), (["https://a/x", "https://a:443/y"], true),
        (["http://a/x", "http://b/x", "http://a/x"], false), (["http://a/x", "http://a.b/x"], false),
        (["http://a/x", "http://a/y", "http://b/"], false), (["http://a/", "http://a./"], false),
    ])
    func `credentials stay with the origin of the first URL`(urls: [String], isSent: Bool) throws {
        var redirects = RedirectChain(try TransferURL(urls[0]))
        for url in urls.dropFirst() { redirects.follow(try TransferURL(url)) }
        let fields = try ["Authorization: Bearer hunter2", "Cookie: c=1", "X-Api-Key: k", "Accept: text/*"].map {
            try RequestField($0)
        }
        let (byField, use) = sent(RequestCredentials(fields: fields), redirects)
        let all = ["authorization: Bearer hunter2", "cookie: c=1", "x-api-key: k", "accept: text/*"]
        #expect(byField == (isSent ? all : ["accept: text/*"]))
        #expect(use == (isSent ? .sent : .withheld))
        let byName = sent(RequestCredentials(basic: Self.basic), redirects)
        #expect(byName.0 == (isSent ? ["authorization: Basic YWRhOmh1bnRlcjI="] : []))
        #expect(byName.1 == (isSent ? .sent : .withheld))
        #expect(sent(.none, redirects).1 == CredentialUse.none)
    }

    @Test func `credentials are looked up for each host, which the caller named or a server`() throws {
        let credentials = RequestCredentials(byHost: Self.byHost)
        func name(_ redirects: RedirectChain) throws -> String? {
            for name in [("na", "hunter3"), ("nb", "hunter4"), ("d", "d")] {
                let value = try BasicCredentials(name: name.0, password: name.1).fieldValue
                if credentials.fields(for: redirects).map(\.value) == [value] { return name.0 }
            }
            return nil
        }
        #expect(try name(redirects("http://a/")) == "na")
        #expect(try name(redirects("http://a/", "http://b/")) == "nb")
        #expect(try name(redirects("http://c/")) == "d")
        #expect(try name(redirects("http://a/", "http://c/")) == nil)
        #expect(try name(redirects("https://a/", "http://b/")) == nil)
        #expect(try name(redirects("https://a/", "http://b/", "https://b/")) == nil)
        #expect(credentials.use(for: try redirects("http://a/", "http://c/")) == .none)
    }

    @Test func `an Authorization field replaces what is looked up at its own origin`() throws {
        let field = try RequestField("authorization:Bearer t")
        let credentials = RequestCredentials(fields: [field], byHost: Self.byHost)
        #expect(sent(credentials, try redirects("http://a/")).0 == ["authorization: Bearer t"])
        #expect(credentials.fields(for: try redirects("http://a/", "http://b/")).count == 1)
    }

    @Test(arguments: [
        ("X: y", "x: y"), ("X:y", "x: y"), ("X: \t y z \t", "x: y z"), ("X:", "x: "), ("X: é", "x: é"),
        ("x-y_z: a:b", "x-y_z: a:b"),
    ])
    func `a field is a name, a colon and a value`(line: String, field: String) throws {
        let read = try RequestField(line)
        #expect("\(read.name.canonicalName): \(read.value)" == field)
    }

    @Test(arguments: [
        ("X", RequestFieldProblem.noColon), (": y", .invalidName), ("X y: z", .invalidName), ("X : z", .invalidName),
        (":path: /", .invalidName), ("X: a\r\nY: b", .invalidValue), ("X: a\u{0}", .invalidValue),
        ("X: a\nb", .invalidValue),
        ("Range: bytes=0-", .reserved("range")), ("if-range: x", .reserved("if-range")), ("HOST: a", .reserved("host")),
        ("Proxy-Authorization: Basic eA==", .reserved("proxy-authorization")),
        ("Content-Length: 5", .reserved("content-length")),
        ("Transfer-Encoding: chunked", .reserved("transfer-encoding")),
        ("Connection: close", .reserved("connection")), ("Accept-Encoding: gzip", .reserved("accept-encoding")),
        ("If-None-Match: *", .reserved("if-none-match")), ("Expect: 100-continue", .reserved("expect")),
    ])
    func `an invalid field, or one of the client's own, is refused`(line: String, problem: RequestFieldProblem) {
        #expect(throws: problem) { try RequestField(line) }
    }

    @Test func `a value of the limit is taken, and one byte more isn't`() {
        let value = String(repeating: "x", count: RequestField.maximumValueSize)
        #expect(throws: Never.self) { try RequestField("X: \(value)") }
        #expect(throws: RequestFieldProblem.tooLong) { try RequestField("X: \(value)x") }
    }

    @Test func `no text of a value shows its secrets`() throws {
        let basic = try #require(Self.basic)
        let field = try RequestField("X: hunter2")
        let credentials = RequestCredentials(basic: basic, fields: [field], byHost: Self.byHost)
        var dumped = ""
        dump(credentials, to: &dumped)
        let texts = [
            "\(basic) \(field) \(credentials)", String(reflecting: credentials), String(reflecting: [field]),
            dumped,
        ]
        for text in texts { #expect(!text.contains("hunter") && !text.contains("aHVudGVy"), "\(text)") }
    }

    private func challenge(_ status: Int, _ value: String?) -> HTTPChallenge {
        var fields = HTTPFields()
        fields[status == 407 ? .proxyAuthenticate : .wwwAuthenticate] = value
        return HTTPChallenge(status: status, fields)
    }

    @Test(
        arguments: [
            (#"Basic realm="a b", charset="UTF-8""#, ["Basic"], "a b"),
            (#"Basic realm="a \"b\" \\ \c""#, ["Basic"], #"a "b" \ c"#),
            (#"Bearer, Basic realm=x, Digest realm="y", nonce="z,w""#, ["Bearer", "Basic", "Digest"], "x"),
            ("Negotiate", ["Negotiate"], nil), (#"BASIC REALM = "q""#, ["BASIC"], "q"), ("", [], nil), (nil, [], nil),
            (", ,Basic", ["Basic"], nil), ("a, b, c, d, e", ["a", "b", "c", "d"], nil),
            (#"Basic realm="open"#, ["Basic"], "open"),
            ("\u{1}", [], nil), (#"Basic realm="a\"#, ["Basic"], "a"), ("Basic realm=", ["Basic"], ""),
        ] as [(String?, [String], String?)]
    )
    func `a challenge is its schemes and its first realm`(value: String?, schemes: [String], realm: String?) {
        for status in [401, 407] {
            let challenge = challenge(status, value)
            #expect(challenge.schemes == schemes)
            #expect(challenge.realm == realm)
            #expect(challenge.isFromProxy == (status == 407))
        }
    }

    @Test func `a 401 ends every question, and says whether credentials were sent`() throws {
        let fields: HTTPFields = [.wwwAuthenticate: "Basic realm=\"r\""]
        for use in [CredentialUse.none, .sent, .withheld] {
            let head = DownloadResponseHead(status: 401, fields: fields, credentialUse: use)
            let expected = DownloadHeadDecision.fail(
                .unauthorized(HTTPChallenge(status: head.status, head.fields), use)
            )
            let tag = try #require(EntityTag("\"v\""))
            for plan in [RequestPlan.full(nil), .remaining(from: 5, .ifRange(.entityTag(tag))), .probe] {
                var state = DownloadState(resuming: DownloadRepresentation(), length: 5)
                #expect(state.decide(on: head, to: plan, now: 0) == expected)
                #expect(state.length == 5)
            }
        }
    }
}
