import FaultProfile
import HTTPTypes
import OperatingSystem

extension V1API {
    /// The milliseconds between samples of a stream: 100 to 10,000.
    static let sampleRange = 100...10_000

    var journal: JournalHub { proxies.context.journal }

    func streamEvents(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let hasSamples = request.request.parameter("samples") != nil
        let samples = try request.number("samples", in: V1API.sampleRange, fallback: 250)
        var last: UInt64?
        if let text = request.request.fields[.lastEventID] {
            guard let number = UInt64(text) else { throw .invalid("Last-Event-ID is a whole number") }
            last = number
        }
        let cursor = EventCursor(
            journal,
            story,
            after: last,
            samples: hasSamples ? .milliseconds(samples) : nil,
            at: MonotonicClock.now
        )
        let reader = EventReader(self, try streams.take(), cursor, for: request.request.client)
        story?.endWait()
        var response = APIResponse(200, type: "text/event-stream")
        response.fields[.cacheControl] = "no-store"
        response.body = .stream(AsyncStream { await reader.next() })
        return response
    }

    func readJournal(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let after = journal.lastKnown(UInt64(try request.number("after", in: 0...Int.max / 2, fallback: 0)))
        let limit = try request.number("limit", in: 1...JournalHub.capacity, fallback: 1_000)
        let (proxy, fault) = (request.request.parameter("proxy"), request.request.parameter("fault"))
        let (events, lost) = journal.events(after: after, limit: JournalHub.capacity)
        let wanted = events.filter { event in
            (proxy.map { $0 == event.entry.proxy } ?? true) && (fault.map { $0 == event.entry.fault } ?? true)
        }
        let listed = wanted.prefix(limit)
        let last = listed.count < wanted.count ? listed.last?.id : events.last?.id
        return .json(
            .object([
                ("events", .array(listed.map(\.json))), ("next", .number(last ?? after)),
                ("lost", .number(lost)),
            ])
        )
    }
}

extension HTTPField.Name {
    static let lastEventID = HTTPField.Name("Last-Event-ID") ?? .ifMatch
}
