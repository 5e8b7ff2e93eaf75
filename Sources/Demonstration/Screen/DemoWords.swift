import FaultProfile
import TerminalDisplay
import Units

/// What is happening in a transfer of the demo, in words.
enum DemoWords {
    /// No byte for this long is a standstill.
    static let standstill = Duration.milliseconds(800)
    /// A resumption is news for this long.
    static let newsTime = Duration.seconds(2)

    /// Whole sentences, the most important one first; those after it may be left out.
    static func sentences(_ scene: DemoScene) -> [String] {
        let quiet = scene.history.quiet
        if case .gone(let mode) = scene.phases.last?.tone, quiet >= .milliseconds(200) || scene.progress.pause != nil {
            let network =
                switch mode {
                case .refuse: "The network is gone."
                case .silence: "The network is silent."
                case .reset: "The network resets every connection."
                }
            return ["\(network) Waiting."] + [next(scene.progress.pause)].compactMap(\.self)
        }
        switch scene.progress.pause {
        case .withoutNetwork: return ["This machine has no network. Waiting."]
        case .waiting(_, let reason): return [sentence(reason)] + [next(scene.progress.pause)].compactMap(\.self)
        case .trying(let reason): return ["Trying again.", sentence(reason)]
        case nil: break
        }
        if quiet >= standstill {
            return [scene.progress.bytes > 0 ? "Nothing gets through. Waiting." : "No byte yet. Waiting."]
        }
        if let resumed = scene.resumed, scene.time - resumed.time < newsTime {
            return ["Connected again.", "Resumed at \(Formatting.size(resumed.offset))."]
        }
        guard let rate = scene.rate else { return ["Connecting."] }
        let verb = scene.transfer == .download ? "Downloading" : "Uploading"
        let moving = "\(verb) at \(Formatting.rate(bitsPerSecond: rate * 8))."
        return scene.phases.last?.tone == .poor ? ["The network is poor.", moving] : [moving]
    }

    /// What an outage does.
    static func effect(of mode: Outage.Mode) -> String {
        switch mode {
        case .refuse: "every connection is refused"
        case .silence: "nothing gets through"
        case .reset: "every connection is reset"
        }
    }

    /// The first part of an error's description as a sentence: "The connection was lost." of "the connection was lost:
    /// Connection reset by peer (errno 104)".
    static func sentence(_ description: String) -> String {
        let first = description.prefix { $0 != ":" && $0 != "(" }.trimmed
        return first.prefix(1).uppercased() + first.dropFirst() + "."
    }

    /// "Next attempt in 2 s."
    private static func next(_ pause: ProgressSnapshot.Pause?) -> String? {
        guard case .waiting(let delay, _) = pause else { return nil }
        return "Next attempt in \((delay.nanoseconds - 1) / 1_000_000_000 + 1) s."
    }
}
