import FaultProfile
import Journal

/// The journal of a text.
func recordedJournal(_ text: String) throws(RecordedJournal.Failure) -> RecordedJournal {
    let lines: JournalText
    do throws(JournalProblem) {
        lines = try JournalText(Array(text.utf8))
    } catch {
        throw .journal(error)
    }
    return try RecordedJournal(
        lines,
        file: "journal.jsonl",
        opened: { _ in nil },
        resolve: { _ in .failure(ResolutionError(what: "it isn't there", remedy: "write it")) }
    )
}
