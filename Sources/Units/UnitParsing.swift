/// Why a text isn't a value with a unit: what is wrong, and what to write instead.
public struct UnitError: Error, Hashable, Sendable {
    /// What is wrong, as a clause: "“250” has no unit".
    public let problem: String
    /// What to do about it, as an instruction: "write “250 ms” or “250 s”".
    public let remedy: String

    public init(problem: String, remedy: String) {
        self.problem = problem
        self.remedy = remedy
    }
}
