import CLibevent
import Glibc

/// What the command has to know of a terminal before it draws on it.
public enum Terminal {
    /// The columns of the terminal that standard error is; `nil` when it is none, or can't tell.
    public static func columnsOfStandardError() -> Int? {
        let columns = Int(squall_terminal_columns(STDERR_FILENO))
        return columns > 0 ? columns : nil
    }
}
