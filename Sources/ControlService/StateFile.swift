import ControlAPI
import DurableFiles
import NIOPosix
import OperatingSystem
import SystemPackage
import TerminalDisplay

/// The file in which `squall serve` keeps its proxies and stored profiles. One server at a time has it.
///
/// Changes that come while it is written are written together.
package actor StateFile {
    /// The time between two looks for changes that no request has made: 100 ms.
    private static let interval = Duration.milliseconds(100)

    /// Why a state isn't written that couldn't be read again.
    private static let tooLong = "it has more than \(V1API.snapshotLimit >> 20) MiB: delete profiles or proxies"

    private let api: V1API
    private let journal: JournalHub
    /// The path as given.
    private nonisolated let name: String
    private let path: FilePath
    /// The open file, whose lock keeps other servers away.
    private var file: any OpenFile
    /// The last state in the file.
    private var written: (changes: UInt64, text: String)?
    /// The write that runs, and why it fails if it does.
    private var writing: Task<String?, Never>?

    /// Takes the file at `path`, makes the proxies that it has, and writes it once, so that a path that can't be written
    /// is known now.
    ///
    /// - Parameter make: makes the first proxies if there is no state yet.
    /// - Throws: `CommandFailure` if another server has the file, or it can't be read or written; it stays as it is.
    package init(
        _ path: String,
        _ api: V1API,
        _ journal: JournalHub,
        orElse make: @Sendable () async throws(CommandFailure) -> Void
    ) async throws(CommandFailure) {
        self.api = api
        self.journal = journal
        name = path
        // Followed here: the file is opened without following links.
        let target = FileReplacement.Places(path).target
        let place = FilePath(target.contains("/") ? target : "./\(target)")
        self.path = place
        let opened = try await StateFile.open(place, path)
        file = opened.file
        do throws(CommandFailure) {
            if opened.bytes.isEmpty { try await make() } else { try await restore(opened.bytes) }
            if let problem = await keep() { throw .wrongInput("can't keep the state in “\(path)”: \(problem)") }
        } catch {
            if opened.bytes.isEmpty {
                _ = await StateFile.onThread { () throws(FileError) in try SystemFiles().remove(place) }
            }
            file.close()
            throw error
        }
    }

    /// Opens and locks the file, and reads it; of a new one there is nothing.
    private static func open(
        _ path: FilePath,
        _ name: String
    ) async throws(CommandFailure) -> (file: any OpenFile, bytes: [UInt8]) {
        let result = await StateFile.onThread { () throws(FileError) in
            let file = try LockedFile.open(path, in: SystemFiles())
            do throws(FileError) {
                let size = try file.size()
                guard size <= V1API.snapshotLimit else {
                    throw FileError(call: "read", path: path, errno: .fileTooLarge)
                }
                return (file, try file.read(Int(size), at: 0))
            } catch {
                file.close()
                throw error
            }
        }
        do throws(FileError) {
            return try result.get()
        } catch {
            if error.errno == .wouldBlock {
                throw .failed("another squall serve has the state file “\(name)”: stop it, or name another file")
            }
            let reason = error.errno == .invalidArgument ? "it is no regular file" : "\(error.call): \(error.errno)"
            throw .wrongInput("can't open the state file “\(name)”: \(reason)")
        }
    }

    private func restore(_ bytes: [UInt8]) async throws(CommandFailure) {
        do throws(SnapshotProblem) {
            try await api.restore(bytes)
        } catch {
            let message = "the state file “\(name)” can't be restored, and stays as it is: \(error.text)"
            if error.isDamaged { throw .wrongInput(message) } else { throw .failed(message) }
        }
    }

    /// Returns when every change so far is in the file, and will be there after a crash; or why it can't be written.
    package func keep() async -> String? {
        let changes = journal.notices.changes
        while written.map({ $0.changes < changes }) ?? true {
            if let writing {
                // It may have begun before the last change.
                _ = await writing.value
                continue
            }
            let task = Task { await write() }
            writing = task
            let problem = await task.value
            if let problem { return problem }
        }
        return nil
    }

    /// Writes the state as it is now; returns why it can't be written.
    private func write() async -> String? {
        defer { writing = nil }
        let changes = journal.notices.changes
        let text = await api.snapshotText
        guard text != written?.text else {
            written?.changes = changes
            return nil
        }
        guard text.utf8.count <= V1API.snapshotLimit else { return StateFile.tooLong }
        let path = path
        let place = FilePath(FileReplacement.Places(path.string).partial)
        let result = await StateFile.onThread { () throws(FileError) in
            try AtomicReplacement.replace(
                path,
                with: Array(text.utf8),
                keepsPermissions: true,
                isLocked: true,
                beside: place,
                in: SystemFiles()
            )
        }
        do throws(FileError) {
            let replaced = try result.get()
            file.close()
            file = replaced
            written = (changes, text)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Writes the file after changes that no request has made, such as those of profiles' files, until the task is
    /// cancelled, and once more then.
    package func follow() async {
        var told: String?
        while true {
            let isLast = Task.isCancelled
            let problem = await keep()
            // Tried again at each look; told once.
            if let problem, problem != told { Console.warn("can't keep the state in “\(name)”: \(problem)") }
            told = problem
            if isLast { return }
            try? await Task.sleep(for: StateFile.interval)
        }
    }

    /// Runs `body`, which blocks, on a thread that is no task's.
    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws(FileError) -> Value
    ) async -> Result<Value, FileError> {
        await withCheckedContinuation { continuation in
            NIOThreadPool.singleton.submit { _ in continuation.resume(returning: Result(catching: body)) }
        }
    }
}
