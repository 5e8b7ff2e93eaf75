import Units

/// One fault's say in one link: how far the stream may have come behind it by now.
///
/// An enum of values, so that asking a stage neither allocates nor counts references. Those that are larger than a
/// few words lie in a `Box`, since a case is moved out of the enum and back when its stage is asked.
enum Stage {
    case latency(Box<LatencyStage>)
    case bandwidth(Box<BandwidthStage>)
    case sharedBandwidth(Box<SharedBandwidthStage>)
    case cut(Box<CutStage>)
    case stall(Box<StallStage>)
    case silence(SilenceStage)
    case trace(Box<TraceStage>)
    case slice(Box<SliceStage>)
    case slowReader(Box<SlowReaderStage>)
    case loss(Box<LossStage>)
    case http(HTTPStage)
    case halfOpen(HalfOpenStage)
    case slowClose(SlowCloseStage)

    /// Whether the stage takes bytes in before it lets them out.
    var holds: Bool {
        switch self {
        case .latency, .trace, .loss: true
        case .bandwidth, .sharedBandwidth, .cut, .stall, .silence, .slice, .slowReader, .http: false
        case .halfOpen, .slowClose: false
        }
    }

    /// Whether the stage stands for the way to a receiver, which has not taken the bytes that the stage holds.
    var isSender: Bool { if case .loss = self { true } else { false } }

    /// Whether the stage decides about bytes as they enter it, however long they stay.
    var decidesOnEntry: Bool { if case .latency = self { true } else { false } }

    /// Whether bytes pass the stage at once, and only what is written at a time is bounded.
    var onlyBoundsWrites: Bool {
        guard case .slice(let stage) = self else { return false }
        return !stage.value.pauses
    }

    /// Whether it counts for the stage when bytes came, and not only when they were taken.
    var countsFromArrival: Bool {
        guard case .latency(let stage) = self else { return false }
        return stage.value.delays
    }

    /// Whether the stage must know if anything waits in front of the link.
    var measuresAvailability: Bool {
        switch self {
        case .bandwidth, .sharedBandwidth, .stall, .silence, .trace, .slowReader, .loss: true
        case .halfOpen: true
        case .latency, .cut, .slice, .slowClose, .http: false
        }
    }

    /// Whether the stage, once it has let pass all that came, does nothing before more comes, however late it is asked.
    var restsBehindAll: Bool {
        switch self {
        case .latency, .bandwidth, .sharedBandwidth, .slowReader: true
        case .cut, .stall, .silence, .trace, .slice, .loss, .http, .halfOpen, .slowClose: false
        }
    }

    /// Asks the stage: with the stream at `reach` in front of it, how far has it come behind?
    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        switch consume self {
        case .latency(var stage):
            let passing = stage.value.advance(reach, &visit)
            self = .latency(stage)
            return passing
        case .bandwidth(var stage):
            let passing = stage.value.advance(reach, &visit)
            self = .bandwidth(stage)
            return passing
        case .sharedBandwidth(var stage):
            let passing = stage.value.advance(reach, &visit)
            self = .sharedBandwidth(stage)
            return passing
        case .cut(var stage):
            let passing = stage.value.advance(reach, &visit)
            self = .cut(stage)
            return passing
        case .stall(var stage):
            let passing = stage.value.advance(reach, &visit)
            self = .stall(stage)
            return passing
        case .silence(var stage):
            let passing = stage.advance(reach, &visit)
            self = .silence(stage)
            return passing
        case .trace(var stage):
            let passing = stage.value.advance(reach, &visit)
            self = .trace(stage)
            return passing
        case .slice(var stage):
            let passing = stage.value.advance(reach, &visit)
            self = .slice(stage)
            return passing
        case .slowReader(var stage):
            let passing = stage.value.advance(reach, &visit)
            self = .slowReader(stage)
            return passing
        case .loss(var stage):
            let passing = stage.value.advance(reach, &visit)
            self = .loss(stage)
            return passing
        case .http(var stage):
            let passing = stage.advance(reach, &visit)
            self = .http(stage)
            return passing
        case .halfOpen(var stage):
            let passing = stage.advance(reach, &visit)
            self = .halfOpen(stage)
            return passing
        case .slowClose(var stage):
            let passing = stage.advance(reach, &visit)
            self = .slowClose(stage)
            return passing
        }
    }

    /// How late the stage may be asked, in nanoseconds, and still make up for it.
    var latenessAllowance: Int64 {
        switch self {
        case .slice(let stage): stage.value.latenessAllowance
        case .loss(let stage): stage.value.latenessAllowance
        case .latency, .bandwidth, .sharedBandwidth, .cut, .stall, .silence, .trace, .slowReader: .max
        case .http, .halfOpen, .slowClose: .max
        }
    }

    /// What the stage has worked out so far beside the answers, see `Link.work`.
    var work: Int {
        switch self {
        case .slice(let stage): stage.value.work
        case .loss(let stage): stage.value.work
        case .latency(let stage): stage.value.work
        case .bandwidth, .sharedBandwidth, .cut, .stall, .silence, .trace, .slowReader: 0
        case .http, .halfOpen, .slowClose: 0
        }
    }

    /// The positions in messages that the stage remembers until they have passed.
    var rememberedPositions: Int {
        switch self {
        case .cut(let stage): stage.value.rememberedPositions
        case .stall(let stage): stage.value.rememberedPositions
        case .http(let stage): stage.count
        case .latency, .bandwidth, .sharedBandwidth, .silence, .trace, .slice, .slowReader, .loss, .halfOpen: 0
        case .slowClose: 0
        }
    }

    /// How late the stage may be asked at a moment of the link's life where other stages have a rate as well.
    func evenness(after now: Moment, age: Int64) -> Int64 {
        switch self {
        case .bandwidth(let stage): stage.value.evenness(after: age)
        case .sharedBandwidth(let stage): stage.value.evenness(after: now)
        case .trace(let stage): stage.value.evenness
        case .latency, .cut, .stall, .silence, .slice, .slowReader, .loss, .http, .halfOpen, .slowClose: .max
        }
    }

    /// Whether it matters to the stage how evenly bytes come.
    var isPaced: Bool {
        switch self {
        case .bandwidth, .sharedBandwidth, .slowReader, .trace, .loss: true
        case .latency, .cut, .stall, .silence, .slice, .http, .halfOpen, .slowClose: false
        }
    }

    /// Leaves out what only bytes show, see `Link.simplify`.
    mutating func simplify(isBesideRate: Bool) {
        guard case .slice(var stage) = self else { return }
        stage.value.simplify(isBesideRate: isBesideRate)
        self = .slice(stage)
    }

    /// Whether the stage is a rate, of which nothing is saved up while other stages are slower.
    var isRate: Bool {
        switch self {
        case .bandwidth, .sharedBandwidth, .slowReader: true
        case .latency, .cut, .stall, .silence, .trace, .slice, .loss, .http, .halfOpen, .slowClose: false
        }
    }

    /// Tells a rate how far all stages together let the stream come, and so how much of it is left unused.
    mutating func settle(at horizon: Int64, now: Moment) {
        switch consume self {
        case .bandwidth(var stage):
            stage.value.settle(at: horizon)
            self = .bandwidth(stage)
        case .slowReader(var stage):
            stage.value.settle(at: horizon)
            self = .slowReader(stage)
        case .sharedBandwidth(var stage):
            stage.value.settle(at: horizon, now: now)
            self = .sharedBandwidth(stage)
        case .latency(let stage): self = .latency(stage)
        case .cut(let stage): self = .cut(stage)
        case .stall(let stage): self = .stall(stage)
        case .silence(let stage): self = .silence(stage)
        case .trace(let stage): self = .trace(stage)
        case .slice(let stage): self = .slice(stage)
        case .loss(let stage): self = .loss(stage)
        case .http(let stage): self = .http(stage)
        case .halfOpen(let stage): self = .halfOpen(stage)
        case .slowClose(let stage): self = .slowClose(stage)
        }
    }

    /// Tells the stage of a position that was found in the stream.
    mutating func note(_ mark: Mark) {
        switch consume self {
        case .cut(var stage):
            stage.value.note(mark)
            self = .cut(stage)
        case .stall(var stage):
            stage.value.note(mark)
            self = .stall(stage)
        case .http(var stage):
            stage.note(mark)
            self = .http(stage)
        case .latency(let stage): self = .latency(stage)
        case .bandwidth(let stage): self = .bandwidth(stage)
        case .sharedBandwidth(let stage): self = .sharedBandwidth(stage)
        case .silence(let stage): self = .silence(stage)
        case .trace(let stage): self = .trace(stage)
        case .slice(let stage): self = .slice(stage)
        case .slowReader(let stage): self = .slowReader(stage)
        case .loss(let stage): self = .loss(stage)
        case .halfOpen(let stage): self = .halfOpen(stage)
        case .slowClose(let stage): self = .slowClose(stage)
        }
    }

    /// Begins in the middle of a stream: what has come to `position` has passed already. To be called before the first
    /// question.
    mutating func begin(at position: Int64) {
        // The others go by how far the stream has come when they are asked first.
        guard case .latency(var stage) = self else { return }
        stage.value.begin(at: position)
        self = .latency(stage)
    }

    /// Forgets an end of the stream behind `position`, which another stage had made and has been lifted.
    mutating func withdrawEnd(behind position: Int64) {
        guard case .latency(var stage) = self else { return }
        stage.value.withdrawEnd(behind: position)
        self = .latency(stage)
    }

    /// Gives back what the stage shares with other links.
    mutating func leave() {
        guard case .sharedBandwidth(var stage) = self else { return }
        stage.value.leave()
        self = .sharedBandwidth(stage)
    }
}
