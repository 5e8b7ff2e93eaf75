import CSeccomp
import Glibc

/// Descriptors of the threads that connect (pidfd_open(2)), kept for their next connects: opening and closing one takes longer
/// than every other call of a connect that isn't one of TCP.
final class ProcessDescriptors {
    /// The most threads that are kept: 64, some of which may have ended.
    private static let limit = 64

    private struct Entry {
        let thread: Int32
        /// The number of the thread's process.
        let process: Int32
        var users: Int
    }

    /// Where the threads' sockets are, if they can't be duplicated.
    private let supplied: SuppliedSockets?
    private var entries: [Int32: Entry] = [:]
    private var threads: [Int32: Int32] = [:]

    init(_ supplied: SuppliedSockets?) { self.supplied = supplied }

    deinit {
        for descriptor in entries.keys { remove(descriptor) }
    }

    /// A descriptor of a thread, until `release`; −errno on failure.
    func open(_ thread: Int32) -> Int32 {
        if let descriptor = threads[thread] {
            if isAlive(descriptor) {
                entries[descriptor]?.users += 1
                return descriptor
            }
            // Another thread has its number by now.
            forget(descriptor, of: thread)
        }
        var (process, isWhole): (Int32, Int32) = (0, 0)
        let descriptor = squall_open_thread(thread, &process, &isWhole)
        guard descriptor >= 0 else { return descriptor }
        // It doesn't tell when the thread ends.
        if isWhole != 0 {
            entries[descriptor] = Entry(thread: thread, process: process, users: 1)
            return descriptor
        }
        if threads.count >= ProcessDescriptors.limit { for (thread, other) in threads { forget(other, of: thread) } }
        threads[thread] = descriptor
        entries[descriptor] = Entry(thread: thread, process: process, users: 1)
        return descriptor
    }

    func release(_ descriptor: Int32) {
        guard let entry = entries[descriptor] else { return }
        entries[descriptor]?.users -= 1
        if entry.users == 1, threads[entry.thread] != descriptor { remove(descriptor) }
    }

    /// Duplicates a descriptor of a thread, which another thread of its process has as well if `isShared`: then also when the
    /// thread has ended. −errno on failure, as `SupervisorSystem.socket` has it.
    func duplicate(_ descriptor: Int32, of thread: Int32, isShared: Bool) -> Int32 {
        if let supplied, let entry = entries[thread] {
            let number =
                supplied.number(descriptor, of: entry.thread)
                ?? (isShared ? supplied.number(descriptor, of: entry.process) : nil)
            guard let number else { return -EBADF }
            let copy = supplied.duplicate(number)
            return copy == -EPROTOTYPE && supplied.isElsewhere(entry.thread) ? -EXDEV : copy
        }
        let copy = squall_duplicate(thread, descriptor)
        guard isShared, copy == -ESRCH || copy == -EBADF, let process = entries[thread]?.process, process > 0 else {
            return copy
        }
        return squall_duplicate_by_any(process, descriptor)
    }

    /// The number of the process of a thread, by its descriptor; 0 if it isn't known.
    func number(of descriptor: Int32) -> Int32 { entries[descriptor]?.process ?? 0 }

    /// Whether the thread hasn't ended: its descriptor can be read then.
    private func isAlive(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 0
    }

    private func forget(_ descriptor: Int32, of thread: Int32) {
        threads[thread] = nil
        if entries[descriptor]?.users == 0 { remove(descriptor) }
    }

    private func remove(_ descriptor: Int32) {
        entries[descriptor] = nil
        close(descriptor)
    }
}
