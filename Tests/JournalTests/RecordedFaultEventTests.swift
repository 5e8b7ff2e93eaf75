import FaultPlan
import Journal
import Testing

@Suite("A line of a journal")
struct RecordedFaultEventTests {
    /// The effect behind another one, through all of them: the compiler asks for a new one here.
    private func successor(of effect: FaultEvent.Effect) -> FaultEvent.Effect? {
        switch effect {
        case .delays: .limits
        case .limits: .cuts(.close)
        case .cuts(.close): .cuts(.notify)
        case .cuts(.notify): .cuts(.reset)
        case .cuts(.reset): .cuts(.silence)
        case .cuts(.silence): .stalls
        case .stalls: .loses
        case .loses: .connectsLate
        case .connectsLate: .silences
        case .silences: .resets
        case .resets: .refuses
        case .refuses: .corrupts
        case .corrupts: .truncates
        case .truncates: .inserts
        case .inserts: .slices
        case .slices: .answers
        case .answers: .drops
        case .drops: .isNoHTTP(.notHTTP)
        case .isNoHTTP: .hangs
        case .hangs: .closesLate
        case .closesLate: .discards
        case .discards: .presents
        case .presents: .alerts
        case .alerts: .negotiates
        case .negotiates: nil
        }
    }

    @Test func `knows the word of every effect, and no other`() {
        var effect: FaultEvent.Effect? = .delays
        var words: Set<String> = []
        while let current = effect {
            words.insert(current.word)
            effect = successor(of: current)
        }
        #expect(RecordedFaultEvent.words == words)
    }
}
