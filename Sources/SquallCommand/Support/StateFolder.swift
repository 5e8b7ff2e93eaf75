import FoundationEssentials
import OperatingSystem
import SystemPackage
import TerminalDisplay

/// The folder for the command's persistent state.
enum StateFolder {
    /// The folder of unfinished uploads: `option`, or `$SQUALL_STATE`, or `squall/uploads` in `$XDG_STATE_HOME` or
    /// `~/.local/state`.
    static func uploads(_ option: String?) throws(CommandFailure) -> FilePath {
        let environment = ProcessInfo.processInfo.environment
        if let folder = option ?? environment["SQUALL_STATE"] {
            guard !folder.isEmpty else { throw .wrongInput("the folder for unfinished uploads has an empty name") }
            return FilePath(folder)
        }
        guard let state = UserFolders.state else {
            throw .wrongInput("there is no home for the memory of unfinished uploads: give --state FOLDER")
        }
        return FilePath(state).appending("squall/uploads")
    }
}
