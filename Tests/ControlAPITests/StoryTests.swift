import Foundation
import HTTPTypes
import Testing
import Units

@testable import ControlAPI

/// The story of a demo, and the proxy that starts from the beginning for each of its transfers.
@Suite(.timeLimit(.minutes(5))) struct StoryTests {
    private func transfer(_ name: String, _ bytes: Int64) -> Story.Transfer {
        Story.Transfer(name: name, bytes: bytes, total: nil, resumptions: 1, state: .running)
    }

    @Test func `a reader gets the new captions, and each changed transfer once`() {
        let story = Story()
        var position = Story.Position()
        story.tell("one")
        story.tell("two")
        story.show(transfer("download", 1))
        story.show(transfer("download", 2))
        let first = story.news(after: &position)
        #expect(first.captions.map(\.compact).map { V1Answer(text: $0).string("text") } == ["one", "two"])
        #expect(first.transfers.map(\.compact).map { V1Answer(text: $0).number("bytes") } == [2])
        story.show(transfer("download", 2))
        let nothing = story.news(after: &position)
        #expect(nothing.captions.isEmpty && nothing.transfers.isEmpty)
        story.show(transfer("upload", 0))
        let last = story.news(after: &position)
        #expect(last.captions.isEmpty)
        #expect(last.transfers.map(\.compact).map { V1Answer(text: $0).string("name") } == ["upload"])
    }

    @Test func `the last 100 captions and 6 transfers are kept`() {
        let story = Story()
        for number in 0..<150 { story.tell("\(number)") }
        for number in 0..<9 { story.show(transfer("\(number)", 0)) }
        var position = Story.Position()
        let (captions, transfers) = story.news(after: &position)
        #expect(captions.count == 100 && V1Answer(text: captions[0].compact).string("text") == "50")
        #expect(transfers.map { V1Answer(text: $0.compact).string("name") } == ["3", "4", "5", "6", "7", "8"])
    }

    @Test func `the story is served, empty where there is none, and its news are events`() async throws {
        try await withV1 { api in
            let none = try await api.send(.get, "/v1/story")
            #expect(none.status == 200 && none.text == #"{"captions":[],"transfers":[]}"#)
        }
        let story = Story()
        try await withV1(story: story) { api in
            story.tell("before")
            let answer = try await api.send(.get, "/v1/story")
            #expect(answer.status == 200 && answer.list("captions", "text") == ["before"])
            async let isWatched: Void = story.waitForReader()
            var reader = try StreamReader(await api.send(.get, "/v1/events"))
            await isWatched
            _ = try await reader.part()
            story.tell("after")
            story.show(transfer("download", 7))
            let caption = try await reader.next("story")
            #expect(caption.answer.string("text") == "after" && caption.answer.string("time").hasSuffix("Z"))
            let shown = try await reader.next("transfer")
            #expect(shown.answer.string("name") == "download" && shown.answer.number("bytes") == 7)
            #expect(shown.answer.value("total") == nil && shown.answer.string("state") == "running")
            let whole = try await api.send(.get, "/v1/story")
            #expect(whole.list("transfers", "name") == ["download"])
        }
    }

    @Test func `a proxy that begins again keeps its address and faults, and numbers connections from 1`()
        async throws
    {
        try await withV1 { api in
            let profile = try api.profiles.profile("slow")
            func begin() async -> String? {
                try? await api.proxies.begin("demo", upstream: api.upstream, profile: profile, seed: 3).get()
            }
            let address = await begin()
            let client = try await api.client(of: "demo")
            let extra = #"{"kind":"latency","delay":"2 ms"}"#
            let added = try await api.send(.put, "/v1/proxies/demo/faults/more", extra)
            #expect(added.status == 200)
            let other = try await api.send(.put, "/v1/proxies/demo/profile", #"{"name":"own","faults":[]}"#)
            #expect(other.status == 200)
            let again = await begin()
            #expect(address != nil && again == address)
            #expect(try client.receive(1).isEmpty)
            let shown = try await api.send(.get, "/v1/proxies/demo")
            #expect(shown.string("profile.name") == "own" && shown.list("faults", "name").contains("more"))
            let second = try await api.client(of: "demo")
            let connections = try await api.send(.get, "/v1/connections")
            #expect(connections.number("connections.0.number") == 1)
            second.close()
            client.close()
            let failed = await api.proxies.begin("bad", upstream: "nowhere", profile: profile, seed: 3)
            guard case .failure(let error) = failed else {
                Issue.record("an upstream without a port was taken")
                return
            }
            #expect(!error.description.isEmpty)
        }
    }
}
