import FaultPlan
import FaultProfile
import Units

/// One connection of a forecast: a request, a response and both links in virtual time.
struct ConnectionRun {
    enum Step {
        /// Nothing happens before `wake`; the client waits until `deadline`. `isFull` says that a link is full.
        case waiting(wake: Moment, deadline: Moment, isFull: Bool)
        /// The last byte has arrived.
        case complete
        /// The connection is over.
        case lost(TransferForecast.Loss)

        var isLost: Bool { if case .lost = self { true } else { false } }
    }

    /// The most calls to a link in one step: 4,096, so that time advances on an unlimited link.
    private static let questionLimit = 4_096
    /// The bytes of an interim response with the URL of an upload: about 150.
    private static let interimBytes: Int64 = 150

    private var plan: ConnectionPlan
    private let faults: [Fault]
    private let client: ClientModel
    private let transfer: Transfer
    private let held: Int64
    /// The offset of the first byte that is transferred.
    private let first: Int64
    /// The bytes that wait in front of each link.
    private var request: Int64
    private var answer: Int64 = 0
    private let requestTotal: Int64
    private let answerTotal: Int64
    /// The content of an upload that has no URL yet, and until when it waits for the interim response with it.
    private var content: Int64
    private let contentDue: Moment
    /// The bytes of that response, 0 if there is none, and whether the server has sent it.
    private let interim: Int64
    private var hasSentInterim = false
    /// Its bytes again if a fault drops it.
    private var dropped: Int64 = 0
    private var hasAnswered = false
    /// The answer that replaces the server's response, if one does, and the bytes of its head.
    private var substitute: (answer: HTTPAnswer, headBytes: Int64)?
    private var firstByteDeadline: Moment
    private var stall: StallWatch
    /// The events that no link has, with their directions.
    private var connectionEvents: [(FaultEvent, Direction?)] = []
    private(set) var questions = 0
    /// When each link is to be called again.
    private var upstreamWake = Moment.zero
    private var downstreamWake = Moment.zero

    /// The bytes whose delay is being measured.
    private var probes = DelayProbes()

    /// How late the connection may be called, in nanoseconds: both links catch up on it, it doesn't count as idleness, and
    /// it adds little to a delay that is being measured.
    ///
    /// - Parameter isExact: whether delays are to be drawn for the same bytes as in a run.
    mutating func latenessAllowance(at now: Moment, drawingAsRuns isExact: Bool) -> Int64 {
        min(
            longestLateness,
            plan.upstream.latenessAllowance(at: now, drawingAsRuns: isExact),
            plan.downstream.latenessAllowance(at: now, drawingAsRuns: isExact),
            probes.latenessAllowance(at: now)
        )
    }

    /// How far apart the delays of the transfer's bytes may lie, in nanoseconds.
    var delaySpread: Int64 { transfer.direction == .upstream ? plan.upstream.delaySpread : plan.downstream.delaySpread }

    /// Measures the delay of the last byte that the link of the transfer has taken; `false` if there is no new one.
    mutating func measureDelay(at now: Moment) -> Bool {
        probes.note(transfer.direction == .upstream ? plan.upstream.arrived : plan.downstream.arrived, at: now)
    }

    /// The delays of the measured bytes that the link has delivered since the last call.
    mutating func takeDelays(isOver: Bool, at now: Moment) -> [Duration] {
        let delivered = transfer.direction == .upstream ? plan.upstream.delivered : plan.downstream.delivered
        return probes.takeDelays(delivered: delivered, isOver: isOver, at: now)
    }

    // Copies, because each access through `plan.faults` is reference-counted.
    private let terminators: ConnectionTerminators
    /// The wait before the server is connected; `nil` when it is over.
    private var hold: DialHold?
    private let longestLateness: Int64
    /// Whether a cut has blackholed the connection, so that only a client time-out ends it.
    private var isBlackholed = false
    /// The bytes passed, and when the last of them did.
    private var passed: (bytes: Int64, moment: Moment)

    /// - Parameters:
    ///   - faults: the faults of the whole plan.
    ///   - held: the bytes of the file that have arrived.
    ///   - repeated: how many of them are transferred again.
    ///   - begun: when the client began to connect.
    init(
        _ plan: consuming ConnectionPlan,
        of faults: [Fault],
        _ transfer: Transfer,
        _ client: ClientModel,
        held: Int64,
        repeated: Int64,
        begun: Moment
    ) {
        plan.upstream.simplify()
        plan.downstream.simplify()
        self.plan = plan
        self.faults = faults
        terminators = self.plan.faults.terminators
        hold = self.plan.faults.hold
        longestLateness = (terminators.shortestIdleness?.nanoseconds ?? .max) / 2
        self.client = client
        self.transfer = transfer
        self.held = held
        first = held - repeated
        let rest = transfer.bytes.bytes - first
        requestTotal = client.requestBytes + (transfer.direction == .upstream ? rest : 0)
        let createsUpload = transfer.direction == .upstream && held == 0 && client.contentWait > .zero
        interim = createsUpload ? ConnectionRun.interimBytes : 0
        answerTotal = interim + client.headBytes + (transfer.direction == .downstream ? rest : 0)
        content = createsUpload ? rest : 0
        contentDue = begun + client.contentWait
        request = requestTotal - content
        passed = (0, self.plan.opened)
        firstByteDeadline = self.plan.opened + client.firstByteLimit
        stall = StallWatch(client)
        if self.plan.reading.messages { noteRequest() }
    }

    /// The work of both links so far.
    mutating func work() -> Int { plan.upstream.work() + plan.downstream.work() }

    /// Whether a fault may end the whole connection.
    var isInterruptible: Bool { terminators.arePossible }

    /// The connection's number.
    var ordinal: UInt64 { plan.ordinal }

    /// The bytes of the file that have arrived, including earlier connections.
    var fileBytes: Int64 {
        switch transfer.direction {
        case .downstream where substitute != nil: held
        case .downstream: max(held, first + arrived(plan.downstream, behind: client.headBytes))
        case .upstream: first + arrived(plan.upstream, behind: client.requestBytes)
        }
    }

    /// The answer of a fault that the client has received in place of the server's.
    var received: HTTPAnswer? { substitute.flatMap { plan.downstream.delivered >= $0.headBytes ? $0.answer : nil } }

    /// The bytes of the response's body that have arrived, including repeated ones.
    var bodyBytes: Int64 { substitute == nil ? arrived(plan.downstream, behind: client.headBytes) : 0 }

    /// The bytes that the receiver counts to the file: no more than announced, whatever was inserted.
    private func arrived(_ link: Link, behind head: Int64) -> Int64 {
        min(max(0, link.delivered - head), transfer.bytes.bytes - first)
    }

    mutating func step(at now: Moment) -> Step {
        if isBlackholed { return blackhole(at: now) }
        if let step = stepBeforeBytes(at: now) { return step }
        let before = fileBytes
        releaseContent(at: now)
        if now >= upstreamWake {
            let end = Self.settle(
                &plan.upstream,
                waiting: &request,
                endsSource: false,
                now: now,
                &questions,
                wake: &upstreamWake
            )
            if case .answer(let request, let fault)? = end {
                connectionEvents.append((.answer(to: request, by: fault), .upstream))
                answer(by: fault, at: now)
            } else if let end {
                return ended(end, at: now)
            }
        }
        if interim > 0, !hasSentInterim, plan.upstream.delivered >= client.requestBytes { sendInterim(at: now) }
        if !hasAnswered, plan.upstream.delivered >= requestTotal {
            hasAnswered = true
            answer += answerTotal - interim
            downstreamWake = now
            if plan.reading.messages { noteAnswer() }
        }
        var downstreamEnd: Ending?
        if now >= downstreamWake {
            // The client asks the server to close the connection after its answer, and so does the proxy with its own.
            downstreamEnd = Self.settle(
                &plan.downstream,
                waiting: &answer,
                endsSource: hasAnswered,
                now: now,
                &questions,
                wake: &downstreamWake
            )
            // Only responses such as the interim one can be dropped.
            if interim > 0, plan.downstream.events.contains(where: { $0.effect == .drops }) { dropped = interim }
        }
        if substitute != nil {
            if received != nil { return .lost(.cut) }
        } else if hasAnswered, plan.downstream.delivered >= answerTotal - dropped {
            return .complete
        }
        if let end = downstreamEnd { return ended(end, at: now) }
        releaseContent(at: now)
        if let loss = impatience(at: now, hasProgressed: fileBytes > before) { return .lost(loss) }
        let bytes = plan.upstream.passed + plan.downstream.passed
        if bytes != passed.bytes { passed = (bytes, now) }
        let change = terminators.nextChange(after: now, lastPassed: passed.moment)
        let deadline = min(firstByteDeadline, stall.next, change, content > 0 ? contentDue : .distantFuture)
        let isFull = !plan.upstream.hasRoom || !plan.downstream.hasRoom
        return .waiting(wake: min(upstreamWake, downstreamWake), deadline: deadline, isFull: isFull)
    }

    /// Sends the content of an upload that has waited for its URL.
    private mutating func releaseContent(at now: Moment) {
        guard content > 0, now >= contentDue || dropped == 0 && plan.downstream.delivered >= interim else { return }
        request += content
        content = 0
        upstreamWake = now
    }

    /// Sends the interim response with the URL of the upload.
    private mutating func sendInterim(at now: Moment) {
        hasSentInterim = true
        answer += interim
        downstreamWake = now
        guard plan.reading.messages else { return }
        var message = message
        message.status = 104
        message.resourceStart = nil
        plan.downstream.note(.message(message, at: 0))
        plan.downstream.note(.end(at: interim))
    }

    /// Why no bytes pass at `now`: the connection has ended or isn't made yet.
    private mutating func stepBeforeBytes(at now: Moment) -> Step? {
        if let (event, how) = terminators.event(at: now, lastPassed: passed.moment) {
            connectionEvents.append((event, nil))
            switch how {
            case .close, .notify: return .lost(.cut)
            case .reset: return .lost(.reset)
            case .silence: return blackhole(at: now)
            }
        }
        guard let (verdict, event) = hold?.advance(at: now) else { return nil }
        if let event { connectionEvents.append((event, nil)) }
        switch verdict {
        case .wait(let moment):
            if now >= firstByteDeadline { return .lost(.firstByte) }
            let change = min(moment, terminators.nextChange(after: now, lastPassed: passed.moment))
            return .waiting(wake: change, deadline: min(firstByteDeadline, change), isFull: false)
        case .pass:
            hold = nil
            return nil
        case .fail:
            return .lost(.reset)
        }
    }

    /// The client's request, for faults on messages.
    private var message: Message {
        let isDownload = transfer.direction == .downstream
        return Message(
            request: 1,
            method: isDownload ? "GET" : "PUT",
            target: "/",
            fields: isDownload && held > 0 ? [Message.Field(name: "Range", value: "bytes=\(first)-")] : [],
            resourceStart: isDownload ? 0 : first
        )
    }

    private mutating func noteRequest() {
        plan.upstream.note(.message(message, at: 0))
        let content = requestTotal - client.requestBytes
        plan.upstream.note(.body(offset: 0, at: client.requestBytes, count: content))
        plan.upstream.note(.end(at: requestTotal))
    }

    private mutating func noteAnswer() {
        var message = message
        let isDownload = transfer.direction == .downstream
        message.status = isDownload && held > 0 ? 206 : 200
        message.resourceStart = isDownload ? first : nil
        let body = interim + client.headBytes
        plan.downstream.note(.message(message, at: interim))
        plan.downstream.note(.body(offset: 0, at: body, count: answerTotal - body))
        plan.downstream.note(.end(at: answerTotal))
    }

    /// Sends the answer of an `http` fault to the client in the server's place.
    private mutating func answer(by fault: Int, at now: Moment) {
        guard case .http(.answer(let text)) = faults[fault].kind else { return }
        // The status line, Connection, Content-Length, and the fields of the profile.
        let head = text.fields.reduce(80) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        substitute = (text, Int64(head))
        hasAnswered = true
        // The rest of the request doesn't matter.
        content = 0
        upstreamWake = .distantFuture
        downstreamWake = now
        answer = Int64(head + text.body.utf8.count)
    }

    private mutating func ended(_ end: Ending, at now: Moment) -> Step {
        switch end {
        case .cut(.silence): blackhole(at: now)
        case .cut(.close), .cut(.notify), .cut(.reset), .alert, .answer, .finish, .reset: .lost(.cut)
        }
    }

    /// Blackholes the connection until the client times out.
    private mutating func blackhole(at now: Moment) -> Step {
        isBlackholed = true
        if let loss = impatience(at: now, hasProgressed: false) { return .lost(loss) }
        return .waiting(wake: .distantFuture, deadline: min(firstByteDeadline, stall.next), isFull: false)
    }

    /// The fault events since the last call, with their directions.
    mutating func takeEvents() -> [(FaultEvent, Direction?)] {
        var events: [(FaultEvent, Direction?)] = []
        if plan.upstream.events.isEmpty, plan.downstream.events.isEmpty, connectionEvents.isEmpty { return events }
        for event in plan.upstream.takeEvents() { events.append((event, .upstream)) }
        events += connectionEvents
        connectionEvents.removeAll()
        for event in plan.downstream.takeEvents() { events.append((event, .downstream)) }
        return events
    }

    /// Releases what the links share with others.
    mutating func close() {
        plan.upstream.close()
        plan.downstream.close()
    }

    /// Whether the client gives the connection up.
    private mutating func impatience(at now: Moment, hasProgressed: Bool) -> TransferForecast.Loss? {
        if plan.downstream.delivered >= interim - dropped + client.headBytes {
            firstByteDeadline = .distantFuture
            stall.start(at: now)
        } else if hasProgressed {
            // A progressing upload isn't given up.
            firstByteDeadline = now + client.firstByteLimit
        }
        if now >= firstByteDeadline { return .firstByte }
        return stall.hasStalled(bytes: plan.downstream.delivered, at: now) ? .stalled : nil
    }

    /// Moves what may pass a link at `now`, from an unlimited source to an unlimited sink.
    ///
    /// - Parameters:
    ///   - endsSource: whether the source ends its stream after what waits.
    ///   - wake: set to the link's wake time.
    /// - Returns: the end of the stream, if it is due.
    private static func settle(
        _ link: inout Link,
        waiting: inout Int64,
        endsSource: Bool,
        now: Moment,
        _ questions: inout Int,
        wake: inout Moment
    ) -> Ending? {
        for _ in 0..<questionLimit {
            questions += 1
            if endsSource, waiting == 0 { link.sourceEnded(.finish) }
            switch link.next(available: waiting > 0 ? waiting : nil, now: now) {
            case .send(let count):
                link.bytesDelivered(count)
            case .receive(let limit):
                let count = min(limit, waiting)
                link.bytesTaken(count, now: now)
                waiting -= count
            case .wait(let moment):
                wake = moment
                return nil
            case .end(let end):
                wake = .distantFuture
                return end
            }
        }
        wake = now
        return nil
    }
}
