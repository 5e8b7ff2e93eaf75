extension Trigger {
    static let after = Trigger(
        .optional("after", \.after, .faultName.described("the name of another fault"), fallback: "at once"),
        "on once that fault has acted on this proxy",
        .events
    ) { "after \($0.after ?? "")" }
}
