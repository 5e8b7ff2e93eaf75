import FaultPlan
import Units

/// Runs one link in virtual time: the source offers bytes at given moments, the sink takes everything at once.
public struct LinkSimulation: Sendable {
    /// An event of the source.
    public struct Arrival: Hashable, Sendable {
        /// When.
        public var moment: Moment
        /// The bytes that are there from then on, beside those before.
        public var bytes: Int64
        /// How the source ends after these bytes, if it does.
        public var end: SourceEnd?

        /// Makes an arrival of `bytes`, 0 or more.
        public init(at moment: Moment, bytes: Int64, end: SourceEnd? = nil) {
            self.moment = moment
            self.bytes = bytes
            self.end = end
        }
    }

    /// A delivery to the sink.
    public struct Delivery: Hashable, Sendable {
        /// When.
        public var moment: Moment
        /// The offset that had been reached then.
        public var offset: Int64
        /// The end of the stream, if it came with it.
        public var end: Ending?
    }

    /// The link as it is now.
    public private(set) var link: Link
    /// The deliveries so far.
    public private(set) var deliveries: [Delivery] = []
    /// The fault events so far.
    public private(set) var events: [FaultEvent] = []
    /// The changes to bytes so far. An index counts from the first byte taken at the same time.
    public private(set) var alterations: [Alteration] = []
    /// The current time of the simulation.
    public private(set) var now: Moment

    private var arrivals: ArraySlice<Arrival>
    private var waiting: Int64 = 0
    private var endWaiting: SourceEnd?
    private let readSize: Int64
    private let stepLimit: Int

    /// A simulation of `link`, whose source does `arrivals`, in order of time.
    ///
    /// - Parameters:
    ///   - readSize: the bytes that are taken at a time at most; it must not change what happens.
    ///   - stepLimit: the events after which the run stops, 10 million if nothing is said.
    public init(_ link: Link, arrivals: [Arrival], readSize: Int64 = 1 << 20, stepLimit: Int = 10_000_000) {
        self.link = link
        self.arrivals = arrivals[...]
        self.readSize = max(1, readSize)
        self.stepLimit = stepLimit
        now = arrivals.first?.moment ?? .zero
    }

    /// Runs until `deadline`, or until nothing more can happen.
    public mutating func run(until deadline: Moment = .distantFuture) {
        for _ in 0..<stepLimit {
            takeArrivals()
            let wake = settle()
            guard !link.isFinished else { return }
            let next = min(wake, arrivals.first?.moment ?? .distantFuture)
            guard next <= deadline, next < .distantFuture else { return }
            now = max(now, next)
        }
    }

    private mutating func takeArrivals() {
        while let arrival = arrivals.first, arrival.moment <= now {
            waiting += arrival.bytes
            endWaiting = endWaiting ?? arrival.end
            arrivals.removeFirst()
        }
    }

    /// Moves what may move at `now`; returns when to look again.
    private mutating func settle() -> Moment {
        while true {
            let hasMore = waiting > 0 || endWaiting != nil && link.sourceEnd == nil
            let step = link.next(available: hasMore ? waiting : nil, now: now)
            events += link.takeEvents()
            switch step {
            case .send(let count):
                link.bytesDelivered(count)
                deliveries.append(Delivery(moment: now, offset: link.delivered, end: nil))
            case .receive(let limit):
                let count = min(limit, waiting, readSize)
                if count > 0 { alterations += link.bytesTaken(count, now: now) }
                if waiting == 0, let endWaiting { link.sourceEnded(endWaiting) }
                waiting -= count
            case .wait(let wake):
                return wake
            case .end(let end):
                deliveries.append(Delivery(moment: now, offset: link.delivered, end: end))
                return .distantFuture
            }
        }
    }
}
