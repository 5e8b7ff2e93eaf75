import FoundationEssentials
import Glibc
import OperatingSystem
import TerminalDisplay

/// A picture of the command as PNG, which `rsvg-convert` draws.
package struct PNGFile {
    private let path: String

    /// The picture at `path`.
    package init(path: String) { self.path = path }

    /// Draws an SVG at twice its size, and replaces the file atomically; on failure it stays unchanged.
    package func write(svg: String) async throws(CommandFailure) {
        let output = OutputFile(path: path)
        let file = try output.attempt { () throws(SystemError) in
            try FileReplacement(of: path) { OutputFile.warnWaiting(for: "“\(path)”") }
        }
        do throws(CommandFailure) {
            try await draw(svg, into: file.partial)
        } catch {
            file.discard()
            throw error
        }
        try output.attempt { () throws(SystemError) in try file.commit() }
    }

    private func draw(_ svg: String, into path: String) async throws(CommandFailure) {
        let source = FileManager.default.temporaryDirectory.appending(path: "squall-\(UUID().uuidString).svg")
        defer { try? FileManager.default.removeItem(at: source) }
        try CommandFailure.attempting("can't write “\(source.path)”") { try Data(svg.utf8).write(to: source) }
        // A file of its own: what the replacement's writer has opened is emptied at the end.
        let drawn = "\(path).png"
        defer { try? FileManager.default.removeItem(atPath: drawn) }
        let program: ChildProcess
        do throws(SystemError) {
            program = try ChildProcess(
                ["rsvg-convert", "--zoom=2", "--output=\(drawn)", source.path],
                environment: ProcessInfo.processInfo.environment
            )
        } catch {
            guard error.code == ENOENT else { throw .failed("can't run rsvg-convert: \(error)") }
            throw .failed(
                "--png needs rsvg-convert, which isn't installed: install Debian's package librsvg2-bin, or write --svg FILE"
            )
        }
        switch await program.end() {
        case .exit(0):
            try CommandFailure.attempting("can't write “\(self.path)”") {
                try? FileManager.default.removeItem(atPath: path)
                try FileManager.default.moveItem(atPath: drawn, toPath: path)
            }
        case .exit(let code): throw .failed("can't write “\(self.path)”: rsvg-convert exited with \(code)")
        case .signal(let number): throw .failed("can't write “\(self.path)”: signal \(number) ended rsvg-convert")
        }
    }
}
