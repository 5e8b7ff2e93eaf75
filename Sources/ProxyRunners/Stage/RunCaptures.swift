import ProfileFiles
import ProxyEngine
import TerminalDisplay

/// The captures of a stage's runs, a file for each.
package struct RunCaptures: Sendable {
    private let folder: String
    private let settings: Capture.Settings

    /// Captures in `folder`, with the settings of each but for its path.
    package init(folder: String, _ settings: Capture.Settings) { (self.folder, self.settings) = (folder, settings) }

    /// The path of the capture of the run called `name`.
    func path(of name: String) -> String { "\(folder)/\(name).pcapng" }

    func opened(_ path: String) throws(CommandFailure) -> CaptureFile {
        var settings = settings
        settings.path = path
        return try CaptureFile(settings, noting: InputFiles())
    }
}
