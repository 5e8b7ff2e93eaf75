import ControlAPI
import EventLoop
import Foundation
import HTTPTypes
import Testing

/// Event streams and the journal of the `/v1` API.
@Suite(.timeLimit(.minutes(2))) struct V1EventTests {
    @Test func `a stream brings samples, faults with their numbers, changes and problems`() async throws {
        try await withV1 { api in
            try await api.create("db", #","profile":"slow""#)
            var reader = try StreamReader(await api.send(.get, "/v1/events?samples=100"))
            let sample = try await reader.next("sample")
            #expect(sample.answer.list("proxies", "name") == ["db"] && sample.answer.flag("proxies.0.enabled") == true)
            #expect(sample.answer.string("time").hasSuffix("Z"))
            let client = try await api.client(of: "db")
            let fault = try await reader.next("fault")
            #expect(fault.id == "1" && fault.answer.string("kind") == "latency")
            #expect(fault.answer.string("proxy") == "db" && fault.answer.number("connection") == 1)
            client.close()
            _ = try await api.send(.patch, "/v1/proxies/db", #"{"enabled":false}"#)
            _ = try await reader.next("change")
            _ = try await api.send(.put, "/v1/profiles/mine", #"{"name":"mine"}"#)
            _ = try await reader.next("change")
            api.journal.notices.noteProblem("profile x.json:3:17 is wrong")
            let problem = try await reader.next("problem")
            #expect(problem.answer.string("text") == "profile x.json:3:17 is wrong")
            let later = try await reader.next("sample")
            #expect(later.answer.number("proxies.0.accepted") == 1 && later.answer.number("proxies.0.faulted") == 2)
        }
    }

    @Test func `a stream goes on after the last event that its reader had`() async throws {
        try await withV1 { api in
            try await api.create("db", #","profile":"slow""#)
            let client = try await api.client(of: "db")
            let fields: HTTPFields = [HTTPField.Name("Last-Event-ID")!: "1"]
            var reader = try StreamReader(await api.send(.get, "/v1/events", fields: fields))
            let fault = try await reader.next("fault")
            #expect(fault.id == "2")
            // The number of an earlier server, which has told more.
            let other: HTTPFields = [HTTPField.Name("Last-Event-ID")!: "900"]
            var again = try StreamReader(await api.send(.get, "/v1/events", fields: other))
            let first = try await again.next("fault")
            #expect(first.id == "1")
            client.close()
        }
    }

    @Test func `streams are limited in number, and a stop ends them`() async throws {
        try await withV1 { api in
            var readers: [StreamReader] = []
            for _ in 0..<64 { readers.append(try StreamReader(await api.send(.get, "/v1/events"))) }
            let more = try await api.send(.get, "/v1/events")
            #expect(more.status == 429 && more.string("code") == "limit-reached")
            readers.removeLast()
            let again = try await api.send(.get, "/v1/events")
            #expect(again.status == 200)
            api.journal.notices.stop()
            while try await readers[0].part() != nil {}
        }
    }

    @Test func `wrong parameters of a stream and of the journal are errors`() async throws {
        try await withV1 { api in
            let wrong = [
                "/v1/events?samples=99", "/v1/events?samples=10001", "/v1/events?samples=x", "/v1/journal?after=-1",
                "/v1/journal?limit=0", "/v1/journal?limit=10001",
            ]
            for path in wrong {
                let answer = try await api.send(.get, path)
                #expect(answer.status == 400, "\(path)")
            }
            let fields: HTTPFields = [HTTPField.Name("Last-Event-ID")!: "x"]
            let answer = try await api.send(.get, "/v1/events", fields: fields)
            #expect(answer.status == 400)
        }
    }

    @Test func `the journal is read in parts, of one proxy or one fault`() async throws {
        try await withV1 { api in
            try await api.create("a", #","profile":"slow""#)
            try await api.create("b", #","faults":[{"kind":"latency","name":"late","delay":"1 ms"}]"#)
            let clients = [try await api.client(of: "a"), try await api.client(of: "b")]
            let all = try await api.send(.get, "/v1/journal")
            #expect(all.list("events", "proxy") == ["a", "a", "b", "b"] && all.number("lost") == 0)
            #expect(all.number("next") == 4)
            let part = try await api.send(.get, "/v1/journal?limit=1&proxy=a")
            #expect(part.number("events.0.id") == 1 && part.number("next") == 1)
            let next = try await api.send(.get, "/v1/journal?after=1&proxy=a")
            #expect(next.number("events.0.id") == 2 && next.number("next") == 4)
            let late = try await api.send(.get, "/v1/journal?fault=late")
            #expect(late.list("events", "fault") == ["late", "late"])
            #expect(Set(late.list("events", "direction")) == ["upstream", "downstream"])
            let end = try await api.send(.get, "/v1/journal?after=4")
            #expect(end.list("events", "fault").isEmpty && end.number("next") == 4)
            let earlier = try await api.send(.get, "/v1/journal?after=5")
            #expect(earlier.list("events", "proxy").count == 4 && earlier.number("next") == 4)
            for client in clients { client.close() }
        }
    }
}

/// Reads the messages of an event stream.
struct StreamReader {
    struct Ended: Error {}

    struct Message {
        let kind: String
        let id: String?
        let answer: V1Answer
    }

    private var parts: AsyncStream<[UInt8]>.Iterator
    private var messages: [Message] = []

    init(_ answer: V1Answer) throws {
        #expect(answer.status == 200 && answer.fields[.contentType] == "text/event-stream")
        parts = try #require(answer.stream).makeAsyncIterator()
    }

    /// The next part of the stream; `nil` at its end.
    mutating func part() async throws -> String? {
        await parts.next().map { String(decoding: $0, as: UTF8.self) }
    }

    /// The next message of a kind; those before it are dropped.
    mutating func next(_ kind: String) async throws -> Message {
        while true {
            while !messages.isEmpty {
                let message = messages.removeFirst()
                if message.kind == kind { return message }
            }
            guard let part = try await part() else { throw Ended() }
            for block in part.components(separatedBy: "\n\n") where block.hasPrefix("event: ") {
                let lines = block.split(separator: "\n")
                func value(_ name: String) -> String? {
                    lines.first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
                }
                let data = V1Answer(text: value("data") ?? "")
                messages.append(Message(kind: value("event") ?? "", id: value("id"), answer: data))
            }
        }
    }
}
