internal import EventLoop
internal import OperatingSystem
internal import Synchronization

/// The event loops of the process, which all proxies share. They start with the first proxy and run until the process ends.
enum SharedLoops {
    private static let stored = Mutex<EventLoopGroup?>(nil)

    /// The loops, one for each processor.
    static func group() throws(FaultProxyError) -> EventLoopGroup {
        do throws(SystemError) {
            return try stored.withLock { stored throws(SystemError) in
                if let stored { return stored }
                let group = try EventLoopGroup()
                stored = group
                return group
            }
        } catch {
            throw FaultProxyError(.system, "can't start the event loops: \(error)")
        }
    }
}
