import FaultProfile
import Units

/// The stage of any kind of fault.
///
/// An enum, so that calling a stage neither allocates nor counts references. Stages larger than a few words are in a `Box`,
/// because the payload is moved out of the enum and back for a call.
enum Stage {
    case latency(Box<LatencyStage>)
    case bandwidth(Box<BandwidthStage>)
    case sharedBandwidth(Box<SharedBandwidthStage>)
    case cut(Box<CutStage>)
    case stall(Box<StallStage>)
    case outage(Box<OutageStage>)
    case trace(Box<TraceStage>)
    case slice(Box<SliceStage>)
    case loss(Box<LossStage>)
    case http(HTTPStage)
    case halfOpen(HalfOpenStage)
    case slowClose(SlowCloseStage)
    case discard(DiscardStage)

    mutating func call<Call: StageCall>(
        _: Call.Type,
        _ argument: Call.Argument,
        _ context: inout Call.Context
    ) -> Call.Answer {
        switch consume self {
        case .latency(var stage):
            defer { self = .latency(stage) }
            return Call.call(&stage.value, argument, &context)
        case .bandwidth(var stage):
            defer { self = .bandwidth(stage) }
            return Call.call(&stage.value, argument, &context)
        case .sharedBandwidth(var stage):
            defer { self = .sharedBandwidth(stage) }
            return Call.call(&stage.value, argument, &context)
        case .cut(var stage):
            defer { self = .cut(stage) }
            return Call.call(&stage.value, argument, &context)
        case .stall(var stage):
            defer { self = .stall(stage) }
            return Call.call(&stage.value, argument, &context)
        case .outage(var stage):
            defer { self = .outage(stage) }
            return Call.call(&stage.value, argument, &context)
        case .trace(var stage):
            defer { self = .trace(stage) }
            return Call.call(&stage.value, argument, &context)
        case .slice(var stage):
            defer { self = .slice(stage) }
            return Call.call(&stage.value, argument, &context)
        case .loss(var stage):
            defer { self = .loss(stage) }
            return Call.call(&stage.value, argument, &context)
        case .http(var stage):
            defer { self = .http(stage) }
            return Call.call(&stage, argument, &context)
        case .halfOpen(var stage):
            defer { self = .halfOpen(stage) }
            return Call.call(&stage, argument, &context)
        case .slowClose(var stage):
            defer { self = .slowClose(stage) }
            return Call.call(&stage, argument, &context)
        case .discard(var stage):
            defer { self = .discard(stage) }
            return Call.call(&stage, argument, &context)
        }
    }
}

/// A fault of any kind that changes bytes.
///
/// An enum for the same reason as `Stage`. Bytes are changed as they enter the link.
enum Alterer {
    case corrupt(CorruptAlterer)
    case truncate(TruncateAlterer)
    case insert(InsertAlterer)
    case drop(DroppedResponses)
    case discard(DiscardedBytes)

    /// Calls the fault in place.
    mutating func call<Call: AltererCall>(_: Call.Type, _ argument: Call.Argument) -> Call.Answer {
        switch consume self {
        case .corrupt(var stage):
            defer { self = .corrupt(stage) }
            return Call.call(&stage, argument)
        case .truncate(var stage):
            defer { self = .truncate(stage) }
            return Call.call(&stage, argument)
        case .insert(var stage):
            defer { self = .insert(stage) }
            return Call.call(&stage, argument)
        case .drop(var responses):
            defer { self = .drop(responses) }
            return Call.call(&responses, argument)
        case .discard(var bytes):
            defer { self = .discard(bytes) }
            return Call.call(&bytes, argument)
        }
    }
}

extension Stage {
    mutating func continueCount(of last: Stage) {
        guard case .cut(var cut) = self, case .cut(let old) = last else { return }
        cut.value.continueCount(of: old.value)
        self = .cut(cut)
    }

    /// Notes that bytes were dropped at `now`, by the stage's own fault or another, if the stage is a discard.
    mutating func bytesVanished(at now: Moment, byOwn isOwn: Bool) {
        guard case .discard(var discard) = self else { return }
        discard.bytesVanished(at: now, byOwn: isOwn)
        self = .discard(discard)
    }

    var losesBytes: Bool { if case .discard = self { true } else { false } }

    var hasLostBytes: Bool { if case .discard(let discard) = self { discard.hasLostBytes } else { false } }
}

extension FaultKind {
    /// The fault's effects on connections.
    var planned: any PlannedFault {
        guard let planned = data as? any PlannedFault else {
            preconditionFailure("the kind \(name.rawValue) doesn't conform to PlannedFault beside its stage")
        }
        return planned
    }
}
