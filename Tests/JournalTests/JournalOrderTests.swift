import FaultPlan
import FaultProfile
import Journal
import Testing

@Suite("The order of a sorted journal")
struct JournalOrderTests {
    private func event(
        _ proxy: String = "p",
        _ connection: UInt64? = 1,
        _ direction: Direction? = .downstream,
        fault: String = "a",
        offset: Int64? = nil,
        request: Int64? = nil,
        what: String = "limits"
    ) -> RecordedFaultEvent {
        RecordedFaultEvent(
            proxy: proxy,
            connection: connection,
            direction: direction,
            fault: fault,
            offset: offset,
            request: request,
            what: what
        )
    }

    @Test
    func `is by proxy, connection, direction, request, offset, fault and what it did, and none comes first`() {
        let order = [
            event("p", nil, nil), event("p", 1, nil), event("p", 1, .upstream, offset: 99), event(), event(fault: "b"),
            event(offset: 0), event(offset: 7, what: "corrupts"), event(offset: 7, what: "stalls"),
            event(offset: 3, request: 1), event(offset: 2, request: 2), event("p", 2, nil), event("p", 10, nil),
            event("q", nil, nil),
        ]
        #expect(order.reversed().sorted() == order)
        #expect(order.shuffled().sorted() == order)
        #expect(!(event() < event()))
    }
}
