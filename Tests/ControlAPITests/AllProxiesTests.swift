import Testing

@testable import ControlAPI

/// Requests that change every proxy.
@Suite(.timeLimit(.minutes(5))) struct AllProxiesTests {
    @Test func `a fault for all reaches the other proxies if one refuses it`() async throws {
        try await withV1 { api in
            let fault = #"{"kind":"latency","delay":"1 ms"}"#
            let full = Array(repeating: fault, count: 256).joined(separator: ",")
            try await api.create("a", #","faults":[\#(full)]"#)
            try await api.create("b")
            try await api.create("c")
            let answer = try await api.send(.put, "/v1/faults/late", fault)
            #expect(answer.status == 429)
            let list = try await api.send(.get, "/v1/proxies")
            #expect(list.list("proxies", "name") == ["a", "b", "c"])
            #expect(list.list("proxies.1.faults", "name") == ["late"])
            #expect(list.list("proxies.2.faults", "name") == ["late"])
        }
    }

    @Test func `a proxy that is removed meanwhile is left out`() async throws {
        try await withV1 { api in
            for name in ["a", "b", "c"] { try await api.create(name) }
            try await api.proxies.changeAll { proxy throws(ControlError) in
                guard proxy.name != "a" else { throw .proxyNotFound }
                try await proxy.update(isEnabled: false)
            }
            let list = try await api.send(.get, "/v1/proxies")
            #expect([0, 1, 2].map { list.flag("proxies.\($0).enabled") } == [true, false, false])
        }
    }

    @Test func `a proxy whose port is taken while another is tried is disabled, and a change`() async throws {
        try await withV1 { api in
            let listen = try await api.create("a").string("listen")
            let proxy = try api.proxies.proxy("a")
            await proxy.leavePort()
            let taking = #"{"name":"b","listen":"\#(listen)","upstream":"\#(api.upstream)"}"#
            try #require(try await api.send(.post, "/v1/proxies", taking).status == 201)
            let changes = api.journal.notices.changes
            await proxy.takePort()
            #expect(!proxy.state.isEnabled && api.journal.notices.changes > changes)
        }
    }

    @Test func `a proxy that is deleted while a list moves it is made anew`() async throws {
        try await withV1 { api in
            try await api.create("a")
            let list = #"[{"name":"a","listen":"127.0.0.1:0","upstream":"\#(api.upstream)"}]"#
            let moving = await api.proxies.replacing.withLock {
                let moving = Task { try await api.send(.post, "/populate", list) }
                // Until it waits for its turn.
                for _ in 0..<10_000 { await Task.yield() }
                for gone in api.proxies.exchange("a", for: [:]) { await gone.end() }
                return moving
            }
            let answer = try await moving.value
            #expect(answer.status == 201 && answer.list("proxies", "name") == ["a"], "\(answer.text)")
        }
    }

    @Test func `a cancelled reading asks no proxy`() async throws {
        try await withV1 { api in
            for name in ["a", "b"] { try await api.create(name) }
            let names = await api.proxies.onAll { $0.name }
            #expect(names == ["a", "b"])
            let reading = Task {
                while !Task.isCancelled { await Task.yield() }
                return await api.proxies.onAll { $0.name }
            }
            reading.cancel()
            #expect(await reading.value.isEmpty)
        }
    }

    @Test func `a reset reaches the other proxies if one can't listen`() async throws {
        try await withV1 { api in
            let taken = try await api.create("b").string("listen")
            let disabled = #"{"name":"a","listen":"\#(taken)","upstream":"\#(api.upstream)","enabled":false}"#
            #expect(try await api.send(.post, "/proxies", disabled).status == 201)
            let toxic = #"{"name":"late","type":"latency","attributes":{"latency":1}}"#
            #expect(try await api.send(.post, "/proxies/b/toxics", toxic).status == 200)
            #expect(try await api.send(.post, "/reset").status == 500)
            #expect(try await api.send(.get, "/proxies/b/toxics").text == "[]")
            #expect(try await api.send(.get, "/proxies/a").flag("enabled") == false)
        }
    }
}
