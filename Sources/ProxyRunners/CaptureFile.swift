import CommandParsing
import OperatingSystem
import ProfileFiles
import ProxyEngine
import TerminalDisplay
import Units

/// The file of `--pcap`.
package struct CaptureFile: Sendable {
    package let capture: Capture
    private let path: String

    /// Whether it is standard output, which has nothing else then.
    package var isStandardOutput: Bool { path == "-" }

    /// Opens the file. Changes nothing in an existing one.
    package init(_ settings: Capture.Settings, noting inputs: InputFiles) throws(CommandFailure) {
        let path = settings.path
        try inputs.check(writing: "the capture", to: path)
        var settings = settings
        settings.program = "Squall \(Version.current)"
        do throws(SystemError) {
            capture = try Capture(settings) { error in
                guard path != "-" || !error.isReaderGone else { return }
                Console.warn("the capture “\(path)” can't be written, and ends here: \(error)")
            } whenWaiting: {
                OutputFile.warnWaiting(for: "the capture “\(path)”")
            }
        } catch {
            throw CommandFailure(writing: "the capture “\(path)”", error)
        }
        self.path = path
    }

    /// Writes the rest. To be called when the proxies have stopped.
    package func finish() throws(CommandFailure) {
        let (dropped, failure) = capture.finish()
        if let failure {
            guard !(isStandardOutput && failure.isReaderGone) else { return }
            throw .failed("the capture “\(path)” is incomplete: \(failure)")
        }
        if dropped > 0 {
            Console.warn(
                "the capture “\(path)” is incomplete: \(dropped) packets came faster than they could be written"
            )
        }
    }
}
