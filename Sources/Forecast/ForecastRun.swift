import FaultPlan
import FaultProfile
import Units

extension TransferForecast {
    /// Makes the forecast of `transfer` by a resuming client through the proxy of `plan`.
    ///
    /// The client connects when the proxy's clock starts. After a lost connection it waits as `retries` says and requests
    /// the rest. Machines and the real network take no time.
    ///
    /// - Parameters:
    ///   - limit: the virtual time after which the forecast ends; 24 h by default.
    ///   - stepLimit: the most steps; a step is a call to a link without faults.
    public init(
        of transfer: Transfer,
        through plan: Plan,
        client: ClientModel = ClientModel(),
        retries: some RetryModel,
        limit: Duration = .seconds(86_400),
        stepLimit: Int = TransferForecast.stepLimit
    ) {
        var run = ForecastRun(transfer, plan, client, limit: limit, stepLimit: stepLimit)
        run.run(retries)
        self = run.forecast
    }
}

/// A forecast in progress.
struct ForecastRun {
    var forecast = TransferForecast()
    let transfer: Transfer
    let client: ClientModel
    let start: Moment
    let end: Moment
    private let stepLimit: Int
    private var admitter: Admitter
    private var plan: Plan { admitter.plan }
    var now: Moment
    private var steps = 0
    private let cost: ForecastCost
    /// The calls to links after which their cost is counted: 32, because looking for it has a cost of its own.
    private static let uncountedQuestions = 32
    private var opened = Moment.zero
    /// The bytes of the last body that began, including repeated ones.
    private var lastBodyBytes: Int64 = 0
    /// Whether the last body that began repeated the received bytes and ended there: the next one starts behind them.
    private var endIsRepeated = false
    private var lastArrival: Moment
    /// When the links were due; bytes that a late call finds have arrived since.
    private var due: Moment
    /// When the delay is measured next.
    private var nextMeasurement: Moment
    /// How long before that the links are called in time: later calls would draw fewer delays, and a long one holds back
    /// the bytes behind it. At most 50 ms.
    private var lead: Int64 = 0
    private static let longestLead: Int64 = 50_000_000
    /// How long delays are drawn for the same bytes as in a run: a minute, of which a picture has a column for each 100 ms.
    private static let exactTime: Int64 = 60_000_000_000
    /// The answer of a fault that ended the last attempt.
    private var answer: HTTPAnswer?
    /// The fault that admits nobody now, if one does.
    private var refusing: Int?

    init(_ transfer: Transfer, _ plan: Plan, _ client: ClientModel, limit: Duration, stepLimit: Int) {
        self.transfer = transfer
        admitter = Admitter(plan)
        self.client = client
        self.stepLimit = stepLimit
        cost = ForecastCost(plan)
        start = plan.schedule.start
        end = start + limit
        now = start
        lastArrival = start
        due = start
        nextMeasurement = start
    }

    var hasTime: Bool { now < end && steps < stepLimit }

    /// The most lateness of a call: a thousandth of the connection's age, and 200 ms, which is less than a rate catches up
    /// on. Saves most of the steps.
    var grain: Int64 { min(200_000_000, now.nanoseconds(since: opened) / 1_000) }

    mutating func run(_ retries: some RetryModel) {
        var retries = retries
        while hasTime {
            connect()
            guard forecast.outcome != .complete, hasTime else { break }
            retries.reached(forecast.bytes)
            // After a range without a new byte, the client requests the rest alone, which is another request.
            guard let wait = retries.failed(at: now, isImmediate: endIsRepeated, answer: answer) else {
                forecast.outcome = .givesUp
                break
            }
            if wait > .zero { forecast.waits += 1 }
            pause(until: now + wait)
        }
        if forecast.outcome == .unfinished, now < end { forecast.outcome = .tooManySteps }
        if forecast.outcome != .complete { forecast.notePause(from: lastArrival, to: now) }
        forecast.duration = now - start
    }

    /// One connection, from the attempt to its end, by which the transfer may be complete.
    private mutating func connect() {
        answer = nil
        let begun = now
        guard isAdmitted() else { return }
        let held = forecast.bytes
        let repeated = endIsRepeated ? 0 : min(held, client.overlapLimit, lastBodyBytes / 2)
        opened = now
        due = now
        steps += cost.acceptance
        var run = ConnectionRun(
            admitter.accept(at: now, client.facts),
            of: plan.faults,
            transfer,
            client,
            held: held,
            repeated: repeated,
            begun: begun
        )
        lead = min(ForecastRun.longestLead, run.delaySpread)
        let ordinal = run.ordinal
        forecast.note(.opened(connection: ordinal, offset: held), at: now)
        let loss = advance(&run)
        if transfer.direction == .downstream, run.bodyBytes > 0 {
            lastBodyBytes = run.bodyBytes
            if forecast.bytes > held {
                endIsRepeated = false
            } else if run.bodyBytes == repeated {
                endIsRepeated = true
            }
        }
        answer = run.received
        run.close()
        if let loss { forecast.note(.lost(connection: ordinal, offset: forecast.bytes, loss), at: now) }
    }

    /// Waits until the client is accepted or gives up; returns whether it was accepted.
    private mutating func isAdmitted() -> Bool {
        let first = now
        while hasTime {
            switch noteAdmission() {
            case (.open, _):
                return true
            case (.refused(let fault), _):
                forecast.note(.refused(fault: plan.faults[fault].name), at: now)
                return false
            case (.unanswered(let fault), let until):
                // The client is answered at its first retransmission after that.
                let answer = ConnectDelay.answer(after: until - first)
                pause(until: first + min(answer, client.connectLimit))
                guard answer >= client.connectLimit else { continue }
                forecast.note(.unanswered(fault: plan.faults[fault].name), at: now)
                return false
            }
        }
        return false
    }

    /// Advances to `moment`. Faults that admit nobody come on and go off meanwhile.
    private mutating func pause(until moment: Moment) {
        while hasTime, now < moment { now = min(end, moment, noteAdmission().until) }
    }

    /// What happens to new connections now, and until when. A fault that admits nobody acts even if no client comes.
    @discardableResult
    private mutating func noteAdmission() -> (admission: Admission, until: Moment) {
        steps += cost.change
        let result = plan.admission(at: now)
        switch result.admission {
        case .open: refusing = nil
        case .refused(let fault): noteOutage(fault, .refuses)
        case .unanswered(let fault): noteOutage(fault, .hangs)
        }
        return result
    }

    /// Records a fault that admits nobody once, as the journal does, and not for each attempt.
    private mutating func noteOutage(_ fault: Int, _ effect: FaultEvent.Effect) {
        guard refusing != fault else { return }
        refusing = fault
        let event = FaultEvent(fault: fault, offset: nil, effect: effect)
        plan.note(event)
        forecast.note(.struck(plan.journalEntry(of: event, connection: nil, direction: nil, at: now)), at: now)
    }

    /// Runs a connection until it is lost; `nil` if the transfer is complete or the time is over. An upload is complete
    /// with its answer, and not with its last byte.
    private mutating func advance(_ run: inout ConnectionRun) -> TransferForecast.Loss? {
        var change = plan.nextChange(after: now)
        var counted = (questions: 0, work: 0)
        defer { count(&run, &counted) }
        while hasTime {
            let step = run.step(at: now)
            if run.questions - counted.questions >= ForecastRun.uncountedQuestions { count(&run, &counted) }
            steps += run.isInterruptible ? cost.change : 1
            reached(run.fileBytes)
            if now >= nextMeasurement, run.measureDelay(at: now) { scheduleMeasurement() }
            for delay in run.takeDelays(isOver: step.isLost, at: now) { forecast.note(delay, at: now) }
            for (event, direction) in run.takeEvents() {
                steps += cost.event
                let changesAdmission = plan.note(event)
                let entry = plan.journalEntry(of: event, connection: run.ordinal, direction: direction, at: now)
                forecast.note(.struck(entry), at: now)
                if changesAdmission { noteAdmission() }
            }
            switch step {
            case .complete:
                forecast.outcome = .complete
                return nil
            case .lost(let loss):
                return loss
            case .waiting(let wake, let deadline, let isFull):
                if now >= change {
                    change = plan.nextChange(after: now)
                    noteAdmission()
                }
                // A late call to a full link would keep its source waiting.
                let isExact = now.nanoseconds(since: start) < ForecastRun.exactTime
                let allowance = run.latenessAllowance(at: now, drawingAsRuns: isExact)
                let late = isFull ? 1 : max(1, min(grain, latenessAllowance, allowance))
                let coarse = max(wake, now.advanced(byNanoseconds: late))
                // Called just before a fault comes on and again when it has, so that earlier bytes have passed.
                let eve = change.advanced(byNanoseconds: -1)
                due = max(now, wake)
                now = min(coarse, deadline, now < eve ? eve : change, end)
            }
        }
        return nil
    }

    /// Adds the cost of a connection since the last call to the steps.
    private mutating func count(_ run: inout ConnectionRun, _ counted: inout (questions: Int, work: Int)) {
        let now = (questions: run.questions, work: run.work())
        steps += (now.questions - counted.questions) * cost.question + now.work - counted.work
        counted = now
    }

    private mutating func reached(_ bytes: Int64) {
        guard bytes > forecast.bytes else { return }
        forecast.progress.arrived(
            bytes - forecast.bytes,
            from: min(due, now).nanoseconds(since: start),
            to: now.nanoseconds(since: start)
        )
        forecast.bytes = bytes
        forecast.notePause(from: lastArrival, to: now)
        lastArrival = now
    }

    /// How late a call may be so that the next delay is measured as it is, in nanoseconds.
    private var latenessAllowance: Int64 {
        max(0, nextMeasurement.nanoseconds(since: now).subtractingSaturated(lead))
    }

    /// Measures each 100 ms, later each 500th part of the time so far: a bounded number, however long it takes.
    private mutating func scheduleMeasurement() {
        nextMeasurement = now.advanced(byNanoseconds: max(100_000_000, now.nanoseconds(since: start) / 500))
    }
}
