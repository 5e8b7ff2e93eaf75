extension Trigger {
    static let after = Trigger(
        .optional("after", \.after, .faultName.described("the name of another fault"), fallback: "at once"),
        "on once that fault has acted on this proxy",
        .events
    ) { "after \($0.after ?? "")" }
}

extension ProfileDecoder {
    /// The place of the value of `after` in a condition.
    func place(ofAfter condition: JSONNode) -> SourcePlace? {
        condition.members.first { $0.key == "after" }?.node.place
    }
}
