import FaultPlan
import FaultProfile
import StreamReading
import Units

/// A connection whose bytes pass a reader and both links of a plan, a piece at a time, without sockets.
struct Conversation {
    var plan: ConnectionPlan
    let reader: StreamReader
    private let interest: StreamInterest
    /// The bytes of a read at most.
    let readSize: Int
    /// The time on the clock of the proxy, which began with the connection.
    var now = Moment.zero
    private(set) var toServer = Stream()
    private(set) var toClient = Stream()

    /// What has come out of one direction.
    struct Stream {
        var output: [UInt8] = []
        var events: [FaultEvent] = []
        var end: Ending?

        var text: String { String(decoding: output, as: UTF8.self) }

        /// The request in front of which the stream ended, because a fault answers it.
        var answeredRequest: Int64? { if case .answer(let request, _) = end { request } else { nil } }
    }

    init(
        _ faults: Fault...,
        seed: UInt64 = 1,
        readSize: Int = 1 << 16,
        reads: Bool = true,
        watches: Bool = false,
        joins: Bool = false
    ) {
        let profile = Profile(name: "test", faults: faults)
        var admitter = Admitter(Plan(profile: profile, seed: seed, proxy: "proxy", start: .zero))
        self.plan = admitter.accept(at: .zero)
        var interest = self.plan.reading
        // A test may look at messages that no fault asks for.
        if reads { interest.messages = true }
        if watches { interest = interest.withResumptions }
        self.interest = interest
        reader = StreamReader(joins ? StreamInterest() : interest)
        self.readSize = readSize
    }

    /// Has the reader of a conversation that `joins`, or has left, read from here on.
    func join() {
        reader.apply(interest, upstream: plan.upstream.taken, downstream: plan.downstream.taken)
    }

    /// Has the reader read nothing from here on.
    func leave() {
        reader.apply(StreamInterest(), upstream: plan.upstream.taken, downstream: plan.downstream.taken)
    }

    /// The client sends `text`.
    mutating func request(_ text: String) { send(Array(text.utf8), .upstream) }

    /// The server sends `text`.
    mutating func respond(_ text: String) { send(Array(text.utf8), .downstream) }

    /// Passes `bytes` on, in reads.
    mutating func send(_ bytes: [UInt8], _ direction: Direction) {
        var rest = bytes[...]
        while !rest.isEmpty, stream(direction).end == nil {
            take(Array(rest.prefix(readSize)), direction)
            rest = rest.dropFirst(readSize)
        }
    }

    /// Time passes until `moment`.
    mutating func wait(until moment: Moment) {
        now = moment
        for direction in Direction.allCases {
            reader.timeAdvanced(to: now, direction)
            if reader.mustRelease(direction) { take([], direction) }
        }
        // That of the second direction may have been the reason to let the first go.
        if reader.mustRelease(.upstream) { take([], .upstream) }
    }

    /// The source of a direction ends its stream.
    mutating func finish(_ direction: Direction) {
        reader.sourceEnded(direction)
        if reader.mustRelease(direction) { take([], direction) }
        let now = now
        change(direction) { link, stream in
            link.sourceEnded(.finish)
            Conversation.settle(&link, &stream, [], now)
        }
    }

    private func stream(_ direction: Direction) -> Stream { direction == .upstream ? toServer : toClient }

    private mutating func take(_ new: [UInt8], _ direction: Direction) {
        var bytes = reader.held(direction) + new
        while takePortion(&bytes, direction) {}
    }

    /// Reads `bytes`, as far as the link has to take them before it is told of more, and removes those; whether there
    /// are more.
    private mutating func takePortion(_ bytes: inout [UInt8], _ direction: Direction) -> Bool {
        let reader = reader
        let now = now
        let new = bytes
        var (portionCount, hasMore) = (0, false)
        change(direction) { link, stream in
            let portion = reader.read(new.span, direction, at: now, into: &link)
            (portionCount, hasMore) = (portion.count, portion.hasMore)
            var block = Array(new.prefix(portion.count))
            while link.altersBytes, !block.isEmpty,
                let alteration = link.nextAlteration(of: Int64(block.count), now: now)
            {
                switch alteration {
                case .flip(let index, let mask): block[Int(index)] ^= mask
                case .drop(let index, let count): block.removeSubrange(Int(index)..<Int(index + count))
                case .insert(let index, let bytes): block.insert(contentsOf: bytes, at: Int(index))
                }
            }
            Conversation.settle(&link, &stream, block, now)
        }
        bytes.removeFirst(portionCount)
        return hasMore
    }

    private mutating func change(_ direction: Direction, _ body: (inout Link, inout Stream) -> Void) {
        switch direction {
        case .upstream: body(&plan.upstream, &toServer)
        case .downstream: body(&plan.downstream, &toClient)
        }
    }

    private static func settle(_ link: inout Link, _ stream: inout Stream, _ block: [UInt8], _ now: Moment) {
        var waiting = block
        if !block.isEmpty { link.bytesArrived(Int64(block.count)) }
        while true {
            let step = link.next(available: nil, now: now)
            stream.events += link.takeEvents()
            switch step {
            case .send(let count):
                stream.output += waiting.prefix(Int(count))
                waiting.removeFirst(Int(count))
                link.bytesDelivered(count)
            case .end(let end):
                stream.end = end
                return
            case .receive, .wait:
                return
            }
        }
    }
}

extension Moment {
    static func seconds(_ count: Int64) -> Moment { Moment(nanoseconds: count * 1_000_000_000) }
}

extension Fault {
    static func cut(
        _ position: Cut.Position,
        of base: OffsetBase,
        _ stream: StreamSelection = .downstream,
        when http: HTTPCondition? = nil
    ) -> Fault {
        let cut = Cut(position: position, how: .reset, base: base)
        return Fault(name: "cut", stream: stream, condition: Condition(http: http), kind: .cut(cut))
    }

    static func http(_ fault: HTTPFault, when http: HTTPCondition? = nil) -> Fault {
        Fault(name: "http", condition: Condition(http: http), kind: .http(fault))
    }
}

/// Messages as they are sent.
enum Sent {
    static let get = "GET /file HTTP/1.1\r\nHost: a\r\n\r\n"

    static func get(_ path: String, _ fields: String...) -> String {
        "GET \(path) HTTP/1.1\r\nHost: a\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    static func ok(_ body: String, _ fields: String...) -> String {
        "HTTP/1.1 200 OK\r\n" + fields.map { $0 + "\r\n" }.joined() + "Content-Length: \(body.utf8.count)\r\n\r\n"
            + body
    }

    static func part(_ body: String, from start: Int, of total: Int) -> String {
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(start)-\(start + body.utf8.count - 1)/\(total)\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n" + body
    }

    static func chunked(_ chunks: String...) -> String {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunks.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
    }

    static let digits = "0123456789"

    /// `digits` over and over: the content of a resource of so many bytes.
    static func resource(_ count: Int, from start: Int = 0) -> String {
        String((start..<start + count).map { Array(digits)[$0 % 10] })
    }
}
