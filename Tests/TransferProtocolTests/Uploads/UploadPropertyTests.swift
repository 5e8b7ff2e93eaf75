import HTTPTypes
import Testing
import TransferProtocol
import Units

/// Seeded uploads to a peer that cuts, forgets and lies.
@Suite struct UploadPropertyTests {
    private struct Run {
        var end: UploadStep?
        var requests = 0
        var peer: ScriptedUploadPeer
        var isRepeatable: Bool
        var broken: [String] = []
    }

    /// One upload with occasional kills of the client; `nil` if the retry limit ended it.
    private static func run(seed: UInt64, lie: ScriptedUploadPeer.Lie) throws -> Run {
        var draws = SeededGenerator(seed: seed)
        let dialects = UploadWireFormat.allCases.map { Optional($0) } + [nil]
        let length = draws.nextFraction() < 0.05 ? 0 : Int64(draws.nextFraction() * 300_000)
        let isRepeatable = draws.nextFraction() < 0.5
        let dialect = dialects[Int(draws.next() % UInt64(dialects.count))]
        let hasLimit = draws.nextFraction() < 0.2 && dialect?.rules.hasLimits == true
        let peer = ScriptedUploadPeer(
            dialect: dialect,
            lie: lie,
            length: length,
            maximumAppend: hasLimit ? 2_000 + Int64(draws.nextFraction() * 200_000) : nil,
            misfortune: draws.nextFraction() * 0.6,
            draws: SeededGenerator(seed: seed ^ 0x9E37)
        )
        let parameters = UploadState.Parameters(
            target: try TransferURL("http://127.0.0.1:1/target"),
            length: length,
            dialects: .automatic,
            isRepeatable: isRepeatable
        )
        var run = Run(peer: peer, isRepeatable: isRepeatable)
        var state = UploadState(parameters)
        var kept: UploadResource?
        var policy = RetryPolicy()
        policy.maximumAttempts = 12
        var schedule = RetrySchedule(policy: policy, generator: draws, startedAt: .zero)
        while run.requests < 2_000 {
            let step = state.nextStep()
            guard case .send(let plan) = step else {
                run.end = step
                return run
            }
            run.requests += 1
            if case .append(_, let from, _, _) = plan, from < state.acknowledged { run.broken.append("below") }
            let acknowledged = state.acknowledged
            let restarts = state.restarts
            let reply = run.peer.respond(plan, &state) { kept = $0 }
            if state.acknowledged < acknowledged, state.restarts == restarts { run.broken.append("went back") }
            if draws.nextFraction() < 0.05, !state.isFailed {
                // Killed: only journalled state survives, and the completion flag is journalled before the last bytes
                // are sent.
                state = UploadState(parameters, resuming: kept, mayBeComplete: run.peer.deliveries > 0)
                // Acknowledgements of the earlier run aren't journalled.
                run.peer.forgetPromises()
                if kept == nil, !isRepeatable, run.peer.deliveries > 0 { return run }
                continue
            }
            let action =
                switch reply {
                case .cut(let sent): state.attemptFailed(plan, sent: sent, .connectionLost("cut"))
                case .response(let head, let sent): state.decide(on: head, to: plan, sent: sent, now: 0)
                }
            schedule.reached(state.acknowledged)
            switch action {
            case .proceed: continue
            case .retryNow: if case .giveUp = schedule.failed(at: .zero, isImmediate: true) { return run }
            case .retry(let wait, _): if case .giveUp = schedule.failed(at: .zero, retryAfter: wait) { return run }
            }
        }
        run.broken.append("endless")
        return run
    }

    @Test(arguments: ScriptedUploadPeer.Lie.allCases)
    func `no upload ends well without all of its bytes`(lie: ScriptedUploadPeer.Lie) throws {
        var finished = 0
        var peersOwn = 0
        for seed in UInt64(1)...3_000 {
            let run = try Self.run(seed: seed, lie: lie)
            #expect(run.broken.isEmpty, "seed \(seed)")
            #expect(run.isRepeatable || run.peer.deliveries <= 1, "seed \(seed): delivered twice")
            #expect(run.peer.appendsBelowAcknowledged == 0, "seed \(seed)")
            if case .finish = run.end {
                finished += 1
                #expect(run.peer.deliveries > 0, "seed \(seed): not delivered")
            }
            if case .fail(.violation) = run.end { peersOwn += 1 }
        }
        // Runs that all fail would prove nothing.
        switch lie {
        case .none:
            #expect(finished > 1_500)
            #expect(peersOwn == 0)
        case .otherVersion: #expect(finished > 750)
        case .offsetGoesDown, .otherLocation, .offsetBeyondEnd, .otherLength, .completeTooEarly:
            #expect(finished > 200)
            #expect(peersOwn > 75)
        }
    }

    @Test func `an honest peer gets every upload that may be repeated, and most others`() throws {
        var lost = 0
        for seed in UInt64(10_001)...14_000 {
            let run = try Self.run(seed: seed, lie: .none)
            if case .finish = run.end { continue }
            if case .fail(let failure)? = run.end, run.isRepeatable { Issue.record("seed \(seed): \(failure)") }
            lost += 1
        }
        #expect(lost < 1_600)
    }
}

extension UploadState {
    /// Whether the upload has ended without success.
    fileprivate var isFailed: Bool {
        if case .failed = phase { return true }
        return false
    }
}
