import FaultProfile
import FoundationEssentials
import OperatingSystem
import ProxyEngine
import Synchronization

/// The capture that requests start and stop, one at a time.
final class CaptureControl: Sendable {
    private enum State {
        case none
        /// That of the command line.
        case kept
        case running(Capture, folder: String)
        case stopped(folder: String, dropped: Int, failure: SystemError?)
    }

    /// What the connections of all proxies meet.
    let connections = CaptureSwitch()
    private let state = Mutex(State.none)

    func keep(_ capture: Capture) {
        state.withLock { $0 = .kept }
        connections.capture = capture
    }

    /// Starts a capture in a folder of its own, and removes the one before.
    func start(_ settings: Capture.Settings) throws(ControlError) {
        try state.withLock { state throws(ControlError) in
            switch state {
            case .kept: throw .conflict("--pcap captures until the server ends")
            case .running: throw .conflict("a capture runs already: DELETE /v1/capture ends it")
            case .stopped(let folder, _, _): CaptureControl.removeFolder(folder)
            case .none: break
            }
            state = .none
            let folder = try CaptureControl.newFolder()
            var settings = settings
            settings.path = CaptureControl.path(in: folder)
            do throws(SystemError) {
                // A failure is in the state of the capture.
                let capture = try Capture(settings, whenFailing: { _ in })
                capture.begin()
                connections.capture = capture
                state = .running(capture, folder: folder)
            } catch {
                CaptureControl.removeFolder(folder)
                throw .conflict("the capture can't be written: \(error)")
            }
        }
    }

    /// Stops the capture; nothing happens if none runs.
    func stop() throws(ControlError) {
        try state.withLock { state throws(ControlError) in
            if case .kept = state { throw .conflict("--pcap captures until the server ends") }
            guard case .running(let capture, let folder) = state else { return }
            connections.capture = nil
            let end = capture.finish()
            state = .stopped(folder: folder, dropped: end.dropped, failure: end.failure)
        }
    }

    /// The path of the capture that has been stopped.
    func path() throws(ControlError) -> String {
        try state.withLock { state throws(ControlError) in
            switch state {
            case .stopped(let folder, _, _): return CaptureControl.path(in: folder)
            case .running: throw .conflict("the capture still runs: DELETE /v1/capture ends it")
            case .kept: throw .conflict("the file of --pcap has the capture")
            case .none: throw .captureNotFound
            }
        }
    }

    /// Ends the capture of requests and removes its file.
    func remove() {
        try? stop()
        state.withLock { state in
            guard case .stopped(let folder, _, _) = state else { return }
            CaptureControl.removeFolder(folder)
            state = .none
        }
    }

    /// The state as the API shows it.
    var json: JSONText {
        state.withLock { state in
            switch state {
            case .none: CaptureControl.json("none")
            case .kept, .running: CaptureControl.json("running")
            case .stopped(let folder, let dropped, let failure):
                CaptureControl.json(
                    "stopped",
                    size: try? FileParts(path: CaptureControl.path(in: folder)).size,
                    dropped: dropped,
                    failure: failure
                )
            }
        }
    }

    private static func json(
        _ state: String,
        size: Int64? = nil,
        dropped: Int = 0,
        failure: SystemError? = nil
    ) -> JSONText {
        .object([
            ("state", .text(state)), ("bytes", size.map { .signed($0) } ?? .null), ("dropped", .signed(Int64(dropped))),
            ("failure", failure.map { .text("\($0)") } ?? .null),
        ])
    }

    private static func newFolder() throws(ControlError) -> String {
        let number = String(UInt64.random(in: 0...(.max)), radix: 36)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("squall-capture-\(number)").path
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw .conflict("the folder “\(folder)” of the capture can't be made")
        }
        return folder
    }

    private static func removeFolder(_ folder: String) { try? FileManager.default.removeItem(atPath: folder) }

    private static func path(in folder: String) -> String { "\(folder)/capture.pcapng" }
}
