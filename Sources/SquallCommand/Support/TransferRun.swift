import CommandParsing
import ProxyRuntime
import SquallTransfer
import TerminalDisplay
import TransferReports
import Units

/// A transfer of a command: shows its events, and ends it when the command is interrupted.
struct TransferRun {
    private let events: EventFormat
    private let live = LiveProgress()
    let interrupt: Interrupt

    init(_ events: EventFormat) async throws(CommandFailure) {
        self.events = events
        interrupt = try await Interrupt.watch()
    }

    /// Shows the events of a request.
    func show(_ request: inout TransferRequest) {
        request.keepsPath = true
        request.onEvent = { [events, live] event in
            switch events {
            case .json: EventFormat.writeJSON(TransferEventJSON(event))
            case .text: live.note(event)
            }
        }
    }

    /// Waits for the result of a transfer, and cancels it when the command is interrupted.
    @_semantics("optimize.sil.specialize.generic.never")
    func result<Value>(of transfer: Transfer<Value>) async throws(CommandFailure) -> Value {
        let end = Task { await transfer.result }
        Task { [interrupt] in
            await interrupt.wait()
            transfer.cancel()
        }
        let result = events == .text ? await live.follow(end) : await end.value
        do throws(TransferError) {
            return try result.get()
        } catch {
            if events == .json { EventFormat.writeJSON(error.json) }
            throw CommandFailure(code: error.exitStatus, message: error.cause?.sentence ?? error.message)
        }
    }

    /// The lines of a complete transfer: what it took, and what proves it.
    static func tellEnd(
        _ name: String,
        _ bytes: Int64,
        _ duration: Duration,
        connections: Int,
        repeated: Int64,
        _ sha256: [UInt8],
        _ proof: String
    ) {
        Console.print(
            lines: """
                \(name.visibleLine): \(Formatting.grouped(bytes)) bytes in \
                \(Formatting.seconds(duration).trimmingPrefix { $0 == " " }), \
                \(connections) connection\(connections == 1 ? "" : "s"), \
                \(Formatting.grouped(repeated)) bytes sent twice (\(Formatting.percent(repeated, of: bytes)))
                sha256 \(sha256.hexadecimal) (\(proof))
                """
        )
    }
}

extension TransferError {
    /// The exit code of the command.
    fileprivate var exitStatus: ExitStatus {
        if obstacle == .wrongInput { return .wrongInput }
        // A refused transfer can be resumed only with other credentials, or once the server lets it.
        return isResumable && code != .unauthorized && code != .refused ? .resumable : .failed
    }

    fileprivate var json: TransferEventJSON {
        cause.map { TransferEventJSON($0) }
            ?? TransferEventJSON(code: code.rawValue, reason: message, resumable: isResumable)
    }
}
