import Units

extension Outage {
    /// The words for `Recovery`.
    enum RecoveryName: String, CaseIterable {
        case immediate
        case tcpBackoff = "tcp-backoff"
    }

    static let keys: [KeyShape] = [
        .required("how", .choice(Manner.allCases.map(\.rawValue))),
        .optional("recovery", .choice(RecoveryName.allCases.map(\.rawValue))),
        .optional("rtt", .positiveDuration),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let recovery = decoder.choice(object, "recovery", RecoveryName.self) ?? .immediate
        let roundTrip = decoder.roundTrip(object, "rtt")
        guard let how = decoder.choice(object, "how", Manner.self) else { return nil }
        switch recovery {
        case .immediate: self.init(how: how)
        case .tcpBackoff: self.init(how: how, recovery: .tcpBackoff(roundTrip: roundTrip))
        }
        checkRecovery(object, &decoder)
    }

    /// Reports a recovery of connections that don't live to see it, and a round trip that nothing asks for.
    private func checkRecovery(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        if how != .silence, recovery != .immediate {
            decoder.report(
                "an outage that resets or refuses connections leaves none to recover",
                remedy: "delete “recovery”, or write “\"how\": \"silence\"”",
                at: object.place(of: "recovery")
            )
        }
        if recovery == .immediate, object["rtt"] != nil {
            decoder.report(
                "“rtt” is for the recovery “tcp-backoff” only",
                remedy: "delete it, or add “\"recovery\": \"tcp-backoff\"”",
                at: object.place(of: "rtt")
            )
        }
    }

    /// Reports a single direction for an outage that resets or refuses connections: those end as a whole.
    func check(stream: StreamSelection, in object: CheckedObject, _ decoder: inout ProfileDecoder) {
        switch how {
        case .silence: return
        case .refuse, .reset: break
        }
        guard stream != .both else { return }
        decoder.report(
            "an outage that resets or refuses connections acts on both directions",
            remedy: "delete “stream”, or write “\"how\": \"silence\"”",
            at: object.place(of: "stream")
        )
    }
}
