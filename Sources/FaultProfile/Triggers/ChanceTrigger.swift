import Units

extension Trigger {
    static let chance = Trigger(
        .optional("chance", \.chance, .chance, default: .always),
        "drawn once for each connection",
        .connections { $0.chance.happens($1.draw) }
    ) { "with a chance of \($0.chance.text)" }
}
