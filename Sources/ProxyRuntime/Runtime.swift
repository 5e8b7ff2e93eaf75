import EventLoop
import OperatingSystem
import TerminalDisplay

/// Starts event loops, watches the signals that end the command, runs `body`, and stops the loops.
///
/// After a failure of `body` the loops go on: the command ends with it.
///
/// - Parameters:
///   - threads: The number of event loops; 0 for one per processor.
///   - reload: Takes SIGHUP, which otherwise ends the command, while the terminal is open or if there is none.
/// - Throws: `CommandFailure` if the loops can't be started; what `body` throws.
package func withRuntime<Result>(
    threads: Int = 0,
    reload: (@Sendable () -> Void)? = nil,
    _ body: (EventLoopGroup, Interrupt) async throws -> Result
) async throws -> Result {
    ProcessLimits.raiseOpenFiles()
    let loops: EventLoopGroup
    let interrupt: Interrupt
    do throws(SystemError) {
        loops = try EventLoopGroup(count: threads)
        interrupt = try await Interrupt.watch(on: loops.loops[0], reload: reload)
    } catch {
        throw CommandFailure.failed("can't start the event loops: \(error)")
    }
    let result = try await body(loops, interrupt)
    await loops.stop()
    return result
}
