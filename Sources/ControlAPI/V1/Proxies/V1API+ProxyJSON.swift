import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import Units

extension V1API {
    /// All proxies, in the order of their names.
    func jsonOfAll() async -> JSONText {
        .object([("proxies", .array(await proxies.onAll(json)))])
    }

    func json(of proxy: ManagedProxy) async -> JSONText {
        let state = proxy.state
        let statistics = await proxy.statistics()
        let counts = statistics.faultEvents.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
        return .object([
            ("name", .text(proxy.name)),
            ("listen", .text(state.address)),
            ("upstream", .text(state.upstream)),
            ("enabled", .flag(state.isEnabled)),
            ("seed", .number(state.seed)),
            (
                "profile",
                state.base.map { .object([("name", .text($0.name)), ("summary", .text($0.summary))]) } ?? .null
            ),
            ("faults", .array(state.faultList(of: proxy.name))),
            ("toxics", .array(state.orderedToxics.map(\.json))),
            ("clock", state.clock(of: proxy.name)),
            (
                "connections",
                .object([
                    ("open", .signed(Int64(statistics.open))), ("accepted", .number(statistics.accepted)),
                    ("failed", .number(statistics.failed)), ("joining", .signed(Int64(statistics.joining))),
                    ("unread", .signed(Int64(statistics.unread))),
                ])
            ),
            (
                "bytes",
                .object([
                    ("upstream", .signed(statistics.upstreamBytes)),
                    ("downstream", .signed(statistics.downstreamBytes)),
                ])
            ),
            ("faulted", .object(counts.map { ($0.0, .number($0.1)) })),
        ])
    }
}

extension ManagedProxy.State {
    /// The faults of the profile, the added ones and the toxics.
    fileprivate func faultList(of proxy: String) -> [JSONText] {
        let base = base?.narrowed(to: proxy)
        func entry(_ fault: Fault, _ source: String, until: Moment? = nil) -> JSONText {
            var members: [(key: String, value: JSONText)] = [
                ("name", .text(fault.name)), ("kind", .text(fault.kind.name.rawValue)),
                ("text", .text(fault.shortText)), ("source", .text(source)),
            ]
            if let until { members.append(("until", .text(JournalClock.shared.time(of: until)))) }
            return .object(members + [("fault", ProfileWriter.json(of: fault))])
        }
        let own = (base?.faults ?? []) + (base?.phases ?? []).flatMap(\.faults)
        return own.map { entry($0, "profile") } + extras.map { entry($0.fault, "extra", until: $0.until) }
            + toxics.compactMap { $0.fault(named: $0.name) }.map { entry($0, "toxic") }
    }

    fileprivate func clock(of proxy: String) -> JSONText {
        let profile = base?.narrowed(to: proxy)
        let phases = profile?.phases ?? []
        var from = Duration.zero
        var list: [JSONText] = []
        var isEndless = false
        for phase in phases {
            let until = phase.duration.map { from + $0 }
            list.append(
                .object([
                    ("name", .text(phase.name)), ("from", .signed(from.wholeMilliseconds)),
                    ("until", until.map { .signed($0.wholeMilliseconds) } ?? .null),
                ])
            )
            if let until { from = until } else { isEndless = true }
        }
        let reading = running?.clock
        let repeats = profile?.repeats == true && !isEndless
        return .object([
            ("milliseconds", .signed(reading?.time.wholeMilliseconds ?? 0)),
            ("paused", .flag(reading?.isPaused ?? false)),
            ("phase", reading?.phase.map(JSONText.text) ?? .null),
            ("phases", .array(list)),
            ("repeats", .flag(repeats)),
            ("period", isEndless || phases.isEmpty ? .null : .signed(from.wholeMilliseconds)),
        ])
    }
}
