import OperatingSystem
import ProfileFiles
import Synchronization
import SystemPackage
import TerminalDisplay

/// The files of a run.
struct RunFiles {
    let journal: FileReplacement?
    let log: RunLog?
    private let output: OutputFile?

    init(_ artifacts: String?) throws(CommandFailure) {
        guard let artifacts else {
            (journal, log, output) = (nil, nil, nil)
            return
        }
        let output = OutputFile(path: "\(artifacts).jsonl")
        self.output = output
        let journal = try output.attempt { () throws(SystemError) in try FileReplacement(of: output.path) }
        self.journal = journal
        do throws(CommandFailure) {
            log = try RunLog("\(artifacts).log")
        } catch {
            journal.discard()
            throw error
        }
    }

    func finish() throws(CommandFailure) {
        guard let output, let journal else { return }
        let closing = Result { () throws(CommandFailure) in try log?.close() }
        try output.attempt { () throws(SystemError) in try journal.commit() }
        try closing.get()
    }

    func discard() {
        journal?.discard()
        try? log?.close()
    }
}

/// The file of a command's output, of which the first 16 MiB are written.
final class RunLog: Sendable {
    private static let limit = 16 << 20

    private struct State {
        let file: SystemPackage.FileDescriptor
        var room = RunLog.limit
        var failure: String?

        mutating func write(_ bytes: some Sequence<UInt8>) {
            do {
                try file.writeAll(bytes)
            } catch {
                failure = FileProblem.reason(error)
            }
        }
    }

    private let path: String
    private let state: Mutex<State>

    init(_ path: String) throws(CommandFailure) {
        self.path = path
        do {
            let file = try SystemPackage.FileDescriptor.open(
                FilePath(path),
                .writeOnly,
                options: [.create, .truncate, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead, .otherRead]
            )
            state = Mutex(State(file: file))
        } catch {
            throw .failed("can't write “\(path)”: \(FileProblem.reason(error))")
        }
    }

    func write(_ bytes: [UInt8]) {
        state.withLock { state in
            let part = bytes.prefix(state.room)
            guard !part.isEmpty, state.failure == nil else { return }
            state.room -= part.count
            state.write(part)
            if state.room == 0 { state.write("\n… the rest is left out\n".utf8) }
        }
    }

    func close() throws(CommandFailure) {
        let failure = state.withLock { state in
            try? state.file.close()
            return state.failure
        }
        if let failure { throw .failed("“\(path)” is incomplete: \(failure)") }
    }
}
