import Testing

// Every row of the table of common server mistakes, and some more.
@Suite struct RangeTests {
    @Test(
        arguments: [
            ("bytes=0-99", 0, 99), ("bytes=-500", 500, 999), ("bytes=999-", 999, 999), ("bytes=0-", 0, 999),
            ("bytes=900-5000", 900, 999), ("bytes=-5000", 0, 999),
        ]
    )
    func `a range is sent with 206`(_ range: String, _ first: Int, _ last: Int) async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.response("GET", "/file.bin", "Range: \(range)")
            #expect(response.status == 206)
            #expect(response["content-range"] == "bytes \(first)-\(last)/1000")
            #expect(response["content-length"] == "\(last - first + 1)")
            #expect(response["accept-ranges"] == "bytes")
            #expect(response.body == Array(TestOrigin.content[first...last]))
        }
    }

    @Test(arguments: ["bytes=99999999-", "bytes=1000-", "bytes=-0", "bytes=99999999999999999999-"])
    func `a range behind the end gets 416 with the length`(_ range: String) async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.response("GET", "/file.bin", "Range: \(range)")
            #expect(response.status == 416)
            #expect(response["content-range"] == "bytes */1000")
            #expect(response["etag"] == nil)
            let record = await origin.records.next()
            #expect(record?.range == .unsatisfied(total: 1_000))
        }
    }

    @Test(
        arguments: [
            "bytes=20-10", "bytes=abc", "lines=0-5", "bytes=0-1,5-6", "bytes=", "bytes=-",
            "bytes=0-1\r\nRange: bytes=2-3",
        ]
    )
    func `a range that can't be used is ignored`(_ range: String) async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.response("GET", "/file.bin", "Range: \(range)")
            #expect(response.status == 200)
            #expect(response["content-range"] == nil)
            #expect(response.body == TestOrigin.content)
        }
    }

    @Test(arguments: [("bytes=0-", 416), ("bytes=0-0", 416), ("bytes=-5", 200)])
    func `an empty file has no ranges`(_ range: String, _ status: Int) async throws {
        try await TestOrigin.with(["empty": []]) { origin in
            let response = try await origin.response("GET", "/empty", "Range: \(range)")
            #expect(response.status == status)
            #expect(response["content-range"] == (status == 416 ? "bytes */0" : nil))
            if status == 200 { #expect(response["content-length"] == "0") }
        }
    }

    @Test(arguments: ["bytes=0-99", "bytes=99999999-"])
    func `HEAD ignores a range`(_ range: String) async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.response("HEAD", "/file.bin", "Range: \(range)")
            #expect(response.status == 200)
            #expect(response["content-length"] == "1000")
            #expect(response["content-range"] == nil)
        }
    }

    @Test func `If-Range lets a range pass with the strong tag or the date, and with nothing else`() async throws {
        try await TestOrigin.with { origin in
            let tag = try #require(try await origin.response()["etag"])
            #expect(!tag.hasPrefix("W/"))
            let table = [
                (tag, 206), (TestOrigin.modified, 206), ("W/" + tag, 200), ("\"other\"", 200), ("\(tag), \(tag)", 200),
                (TestOrigin.now, 200), ("Fri, 20 Nov 2026 12:00:00 GMT", 200), ("nope", 200), ("*", 200),
            ]
            for (ifRange, status) in table {
                let response = try await origin.response("GET", "/file.bin", "Range: bytes=5-9", "If-Range: \(ifRange)")
                #expect(response.status == status, "\(ifRange)")
                #expect(response.body.count == (status == 206 ? 5 : 1_000), "\(ifRange)")
            }
        }
    }

    @Test func `If-Range with a range behind the end gets 416 only while the tag matches`() async throws {
        try await TestOrigin.with { origin in
            let tag = try #require(try await origin.response()["etag"])
            let matching = try await origin.response("GET", "/file.bin", "Range: bytes=1000-", "If-Range: \(tag)")
            #expect(matching.status == 416)
            let other = try await origin.response("GET", "/file.bin", "Range: bytes=1000-", "If-Range: \"other\"")
            #expect(other.status == 200)
        }
    }

    @Test func `a precondition goes before a range`() async throws {
        try await TestOrigin.with { origin in
            let tag = try #require(try await origin.response()["etag"])
            let table = [
                ("If-Match: \"nope\"", 412), ("If-Match: W/\(tag)", 412), ("If-Match: \(tag)", 206),
                ("If-Match: *", 206),
                ("If-None-Match: \(tag)", 304), ("If-None-Match: W/\(tag)", 304), ("If-None-Match: \"nope\"", 206),
                ("If-Modified-Since: \(TestOrigin.modified)", 304), ("If-Modified-Since: nope", 206),
                ("If-Unmodified-Since: Fri, 20 Nov 2026 12:00:00 GMT", 412),
                ("If-Unmodified-Since: \(TestOrigin.modified)", 206),
            ]
            for (condition, status) in table {
                let response = try await origin.response("GET", "/file.bin", "Range: bytes=0-4", condition)
                #expect(response.status == status, "\(condition)")
            }
        }
    }

    @Test func `304 has the tag and no content`() async throws {
        try await TestOrigin.with { origin in
            let tag = try #require(try await origin.response()["etag"])
            let response = try await origin.everything(
                "GET /file.bin HTTP/1.1\r\nHost: a\r\nIf-None-Match: \(tag)\r\nConnection: close\r\n\r\n"
            )
            let fields = "Date: \(TestOrigin.now)\r\nETag: \(tag)\r\nConnection: close\r\n"
            #expect(response == "HTTP/1.1 304 Not Modified\r\n\(fields)\r\n")
        }
    }

    @Test func `a precondition on a missing file doesn't matter`() async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.response("GET", "/none", "If-Match: \"a\"")
            #expect(response.status == 404)
        }
    }
}
