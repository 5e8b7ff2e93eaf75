import ProxyEngine
import TerminalDisplay
import Units

extension Statistics {
    /// How late faults were on a busy machine: "the machine was too busy …"; `nil` if they weren't.
    package var lateness: String? {
        guard lateTimes > 0 else { return nil }
        let threshold = Statistics.noticedLateness.nanoseconds / 1_000_000
        let longest = longestLateness.nanoseconds / 1_000_000
        let lost = lostBytes > 0 ? "; rates lost \(Formatting.size(lostBytes)) by it" : "; rates made up for all of it"
        return
            "the machine was too busy to keep the times of the profile \(lateTimes) time\(lateTimes == 1 ? "" : "s"), "
            + "by \(threshold) ms or more, \(Formatting.grouped(longest)) ms at most\(lost)"
    }
}

extension CommandFailure {
    /// A proxy that failed to start. Counts as wrong input if another command line or profile would help regardless of
    /// the machine's state.
    package init(_ error: ProxyError) {
        let code: ExitStatus =
            switch error {
            case .unresolved, .forwardsToItself, .openToAnybody, .unknownPhase, .withoutTLS, .noTLSHere, .unusable:
                .wrongInput
            case .cannotListen, .stopped: .failed
            }
        self.init(code: code, message: error.description)
    }
}
