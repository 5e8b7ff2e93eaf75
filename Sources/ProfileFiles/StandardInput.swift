import FaultProfile
import Glibc
import OperatingSystem
import SystemPackage
import TerminalDisplay

/// The profile on standard input, which is called "-".
enum StandardInput {
    /// The name of standard input on the command line.
    static let reference = "-"
    /// The name of standard input in problems. The path of a profile has a slash, or ends with .json.
    static let name = "standard input"

    /// Standard input can be read once, and a command may ask for it several times.
    private static let content: Result<[UInt8], SystemError> = {
        do throws(SystemError) {
            // One byte above the limit lets the reader detect that the text is too long.
            return .success(try DescriptorReading.bytes(of: STDIN_FILENO, limit: ProfileLimits.fileBytes + 1))
        } catch {
            return .failure(error)
        }
    }()

    /// The profile, if it can be read; waits for its end.
    static var readable: ProfileSource? { try? content.map { ProfileSource(file: name, bytes: $0) }.get() }

    /// The profile; waits for its end. Notes the file that standard input is redirected from.
    static func source(noting inputs: InputFiles) throws(CommandFailure) -> ProfileSource {
        if (try? FilePath(path).stat().type) == .regular { inputs.note(path) }
        switch content {
        case .success(let bytes): return ProfileSource(file: name, bytes: bytes)
        case .failure(let error):
            throw .wrongInput("can't read the profile from standard input: \(FileProblem.reason(error))")
        }
    }

    private static let path = "/dev/stdin"
}
