import ChaosStage
import EventLoop
import FaultPlan
import Journal
import OperatingSystem
import ProxyEngine
import ProxyRuntime
import Synchronization
import Units

/// Collects what happens in one run: events of faults, resumptions, samples, and the command's output.
final class RunRecorder: Sendable {
    private struct State {
        var timeline = Timeline()
        var events: [RecordedFaultEvent] = []
        /// The targets of a supervised command's connections, by their numbers.
        var targets: [UInt64: RecordedTarget] = [:]
        /// The names of the faults that acted, by proxy: at most all of the profiles.
        var acted: [String: Set<String>] = [:]
        var resumptions: [Int64]
        /// Why streams weren't HTTP, and the first failure to reach the upstream, in the order of the proxies.
        var unread: [[UnreadReason]]
        var unreachable: [(endpoint: Endpoint, error: SystemError)?]
        var refused: [String?]
        var last: (upstream: Int64, downstream: Int64) = (0, 0)
        var output: [UInt8] = []
        var written: Int64 = 0
    }

    /// When the command started.
    let began: Moment
    private let names: [String]
    private let state: Mutex<State>
    private let journal: JournalWriter?
    private let log: (@Sendable ([UInt8]) -> Void)?

    /// A recorder for proxies of these names.
    ///
    /// - Parameter log: gets the command's output as it comes.
    init(_ names: [String], began: Moment, journal: JournalWriter?, log: (@Sendable ([UInt8]) -> Void)?) {
        (self.names, self.began, self.journal, self.log) = (names, began, journal, log)
        state = Mutex(
            State(
                resumptions: names.map { _ in 0 },
                unread: names.map { _ in [] },
                unreachable: names.map { _ in nil },
                refused: names.map { _ in nil }
            )
        )
    }

    /// Notes an event of a fault. Callable on any loop.
    func record(_ entry: JournalEntry) {
        journal?.record(entry)
        // A stream that isn't HTTP is no fault that acted.
        if entry.effect.reason != nil { return }
        let several = names.count > 1 ? "\(entry.proxy), " : ""
        let mark = Timeline.Mark(
            time: max(.zero, entry.moment - began),
            kind: .fault,
            text: several + Narrator.sentence(entry)
        )
        state.withLock { state in
            state.timeline.add(mark)
            state.acted[entry.proxy, default: []].insert(entry.fault)
            if state.events.count < ReplayPlan.eventLimit { state.events.append(RecordedFaultEvent(entry)) }
        }
    }

    /// Notes how a connect of a supervised command has ended. Callable on any loop.
    func note(_ connect: ConnectRecord) {
        journal?.note(connect)
        guard let connection = connect.connection, let target = RecordedTarget(connect) else { return }
        state.withLock { state in
            if state.targets.count < ReplayPlan.eventLimit { state.targets[connection] = target }
        }
    }

    /// Notes a problem of the proxy at `index`. Callable on any loop.
    func note(_ event: ProxyEvent, proxy index: Int) {
        state.withLock { state in
            switch event {
            case .streamUnread(let reason):
                // Told once for each reason.
                state.unread[index].append(reason)
            case .upstreamUnreachable(let endpoint, let error), .upstreamUnresolved(let endpoint, let error):
                if state.unreachable[index] == nil { state.unreachable[index] = (endpoint, error) }
            case .tls(_, .clientFailed(.fault)):
                break
            case .tls(_, let event):
                if state.refused[index] == nil { state.refused[index] = event.sentence }
            case .targetUnreachable, .targetForbidden, .clientNotAllowed, .cannotAccept, .connectionLimitReached,
                .connectionFromItself, .upstreamLeadsBack, .unacknowledgedAtReset, .answersByItself, .cannotListenAgain,
                .clientsWithoutTLS, .late:
                break
            }
        }
    }

    /// Why streams of a proxy weren't read as HTTP, each reason once.
    func unreadStreams(ofProxyAt index: Int) -> [UnreadReason] { state.withLock { $0.unread[index] } }

    /// The first failure of a proxy to reach its upstream, with the address; `nil` if there was none, or if it is a time-out
    /// that the faults of its profile may have brought about.
    func upstreamFailure(ofProxyAt index: Int, hasFaults: Bool) -> String? {
        guard let (endpoint, error) = state.withLock({ $0.unreachable[index] }) else { return nil }
        return hasFaults && error.code == SystemError.timedOut ? nil : "\(endpoint): \(error)"
    }

    /// The first failure of TLS with a client of a proxy, if it wasn't by a fault.
    func clientFailure(ofProxyAt index: Int) -> String? { state.withLock { $0.refused[index] } }

    /// The names of the faults of a proxy that acted.
    func actedFaults(of name: String) -> Set<String> { state.withLock { $0.acted[name] ?? [] } }

    /// Notes that a transfer was resumed through the proxy at `index`. Callable on any loop.
    func record(_ resumption: Resumption, proxy index: Int) {
        let several = names.count > 1 ? "\(names[index]), " : ""
        let offset = Formatting.grouped(resumption.offset)
        let mark = Timeline.Mark(
            time: max(.zero, resumption.moment - began),
            kind: .resumption,
            text:
                "\(several)connection \(resumption.connection), \(resumption.direction.rawValue): resumed at \(offset)"
        )
        state.withLock { state in
            state.timeline.add(mark)
            state.resumptions[index] += 1
        }
    }

    /// Notes the bytes that all proxies have passed at `now`.
    func sample(_ statistics: [Statistics], at now: Moment) {
        let upstream = statistics.reduce(0) { $0 + $1.upstreamBytes }
        let downstream = statistics.reduce(0) { $0 + $1.downstreamBytes }
        state.withLock { state in
            let sample = Timeline.Sample(
                time: now - began,
                upstream: max(0, upstream - state.last.upstream),
                downstream: max(0, downstream - state.last.downstream)
            )
            state.last = (upstream, downstream)
            state.timeline.add(sample)
        }
    }

    /// Notes a piece of the command's output, of which the end is kept.
    func receive(_ bytes: [UInt8]) {
        log?(bytes)
        state.withLock { state in
            state.written += Int64(bytes.count)
            state.output += bytes
            if state.output.count > 4 * RunReport.outputLimit {
                state.output.removeFirst(state.output.count - RunReport.outputLimit)
            }
        }
    }

    /// The end of the output as text, and the number of bytes in front of it.
    var output: (text: String, dropped: Int64) {
        state.withLock { state in
            // Not from the middle of a character.
            var end = state.output.suffix(RunReport.outputLimit)
            if end.count < state.written { end = end.dropFirst(end.prefix(3).prefix { $0 & 0xC0 == 0x80 }.count) }
            return (String(decoding: end, as: UTF8.self), state.written - Int64(end.count))
        }
    }

    /// The events of the faults of the proxy called `name`.
    func events(of name: String) -> [RecordedFaultEvent] {
        state.withLock { state in
            state.events.filter { $0.proxy == name }.map { event in
                var event = event
                event.target = event.connection.flatMap { state.targets[$0] }
                return event
            }
        }
    }

    /// The resumptions, in the order of the proxies.
    var resumptions: [Int64] { state.withLock { $0.resumptions } }

    /// The timeline of a run that has ended at `end`, with the phases of its proxies.
    func timeline(_ proxies: [Proxy], end: Moment) -> Timeline {
        var timeline = state.withLock { $0.timeline }
        timeline.duration = end - began
        for proxy in proxies {
            timeline.addPhases(
                proxy.profile.phases.map(\.name),
                of: proxy.configuration.name,
                on: proxy.schedule,
                from: began,
                to: end
            )
        }
        return timeline
    }
}

extension RecordedFaultEvent {
    /// The event of a journal's entry.
    fileprivate init(_ entry: JournalEntry) {
        self.init(
            proxy: entry.proxy,
            connection: entry.connection,
            direction: entry.direction,
            fault: entry.fault,
            offset: entry.offset,
            base: entry.place?.base ?? .connection,
            request: entry.place?.request,
            what: entry.effect.word
        )
    }
}
