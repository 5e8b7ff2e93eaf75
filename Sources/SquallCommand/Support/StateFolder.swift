import FoundationEssentials
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
        // The XDG specification ignores relative paths.
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return FilePath(state).appending("squall/uploads")
        }
        if let home = environment["HOME"], home.hasPrefix("/") {
            return FilePath(home).appending(".local/state/squall/uploads")
        }
        throw .wrongInput("there is no home for the memory of unfinished uploads: give --state FOLDER")
    }
}
