import ControlAPI
import EventLoop

/// The file in which `squall serve` keeps its proxies and stored profiles.
struct StateFile {
    /// The time in which changes are gathered before the file is written: 100 ms.
    private static let interval = Duration.milliseconds(100)

    let path: String

    /// Makes the proxies of the file; `false` if there is no file.
    ///
    /// A file that can't be read is an error, and stays as it is.
    func restore(to api: V1API) async throws(CommandFailure) -> Bool {
        guard FileStamp(path) != nil else { return false }
        let bytes: [UInt8]
        do throws(RegularFileProblem) {
            bytes = try RegularFile.bytes(of: path, limit: V1API.snapshotLimit + 1)
        } catch {
            throw .wrongInput("can't read the state file “\(path)”: \(error.reason) (\(error.remedy))")
        }
        do throws(SnapshotProblem) {
            try await api.restore(bytes)
        } catch {
            let message = "the state file “\(path)” can't be restored, and stays as it is: \(error.text)"
            if error.isDamaged { throw .wrongInput(message) } else { throw .failed(message) }
        }
        return true
    }

    /// Writes the file after each change until the task is cancelled, and once more then.
    func keep(_ api: V1API, _ journal: JournalHub) async {
        var written: (changes: UInt64, text: String)?
        var problem: String?
        while true {
            let isLast = Task.isCancelled
            let changes = journal.changeCount
            if changes != written?.changes {
                let text = api.snapshotText
                do throws(CommandFailure) {
                    if text != written?.text { try OutputFile(path: path).write(text) }
                    (written, problem) = ((changes, text), nil)
                } catch {
                    // Tried again at each look; told once.
                    if problem != error.lines { Console.warn(lines: error.lines) }
                    problem = error.lines
                }
            }
            if isLast { return }
            try? await Task.sleep(for: StateFile.interval)
        }
    }
}
