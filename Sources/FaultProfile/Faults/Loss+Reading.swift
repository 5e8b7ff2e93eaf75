import Units

extension Loss {
    static let keys: [KeyShape] = [
        .required("rate", .chance),
        .optional("burst", .burstLength),
        .required("rtt", .positiveDuration),
        .optional("sender", .choice(Sender.allCases.map(\.rawValue))),
        .optional("link", .rate),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let rate = decoder.chance(object, "rate")
        let burst = object["burst"].flatMap {
            decoder.wholeNumber($0, key: "burst", in: 1...UInt64(ProfileLimits.burstLength))
        }
        let roundTrip = decoder.roundTrip(object, "rtt")
        let sender = decoder.choice(object, "sender", Sender.self) ?? .cubic
        let link = decoder.rate(object, "link") ?? Loss.defaultLink
        guard let rate, let roundTrip, let burst = burst ?? (object["burst"] == nil ? 1 : nil) else { return nil }
        self.init(rate: rate, burst: Int(burst), roundTrip: roundTrip, sender: sender, link: link)
        guard Loss.check(rate, burst: self.burst, object, &decoder) else { return nil }
    }

    /// Reports a loss that leaves nothing, and one that bursts of this length can't make.
    private static func check(
        _ rate: Probability,
        burst: Int,
        _ object: CheckedObject,
        _ decoder: inout ProfileDecoder
    ) -> Bool {
        if rate == .always {
            decoder.report(
                "a loss of 100 % lets nothing pass",
                remedy: "use an “outage” with “\"how\": \"silence\"”",
                at: object["rate"]?.place ?? object.place
            )
            return false
        }
        // Less a little, so that 80 % are four fifths.
        let least = (rate.fraction / (1 - rate.fraction) - 1e-9).rounded(.up)
        guard burst > 1, Double(burst) < least else { return true }
        decoder.report(
            "bursts of \(burst) can't make a loss of \(rate.text): what comes between them has no room",
            remedy: least <= Double(ProfileLimits.burstLength)
                ? "write a burst of \(Int(least)) or more" : "write a lower rate",
            at: object["burst"]?.place ?? object.place
        )
        return false
    }
}
