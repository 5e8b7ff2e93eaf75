import ArgumentParser
import ControlCommands
import Demonstration
import OperatingSystem

/// The least limits of open files (ulimit -n) with which commands work.
enum OpenFiles {
    /// The descriptors of a server that none of its connections takes: 16 for files of system libraries, 16 for those of the
    /// server, and those of the event loops.
    static var withoutConnections: Int { 32 + 4 * ProcessLimits.processors }

    /// The descriptors of the process, of an event loop of each library for each processor, and some of connections; 0 for
    /// a command that counts for itself.
    static func least(for command: any ParsableCommand) -> Int {
        let processors = ProcessLimits.processors
        switch command {
        case is GuardCommand: return 0
        case is OriginCommand: return withoutConnections + 8
        case is GetCommand, is PutCommand: return 24 + 4 * processors
        case is DemoCommand: return DemoCommand.openFiles
        case let command as ExecCommand where !command.page:
            return withoutConnections + 8 + 4 * max(0, command.threads - processors)
        case is ServeCommand, is ExecCommand, is TestCommand, is ReplayCommand, is ShrinkCommand:
            return 48 + 8 * processors
        case is RunCommand: return withoutConnections
        case is CtlCommand: return 16 + 4 * processors
        default: return 16
        }
    }
}
