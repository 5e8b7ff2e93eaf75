import CProcess
import Glibc

/// What this process has been started with: the signals that its caller ignores, and those that it blocks.
package struct InheritedSignals: Sendable {
    /// Those of this process, noted at the first use.
    private static let own = InheritedSignals()

    private var ignored = sigset_t()
    private var blocked = sigset_t()

    private init() {
        sigemptyset(&ignored)
        for number in 1..<Int32(NSIG) {
            var action = sigaction()
            guard sigaction(number, nil, &action) == 0 else { continue }
            let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            if handler == unsafeBitCast(SIG_IGN, to: Int.self) { sigaddset(&ignored, number) }
        }
        // With SIGCHLD ignored, waiting for children doesn't work; POSIX leaves open whether a program is started with it.
        sigdelset(&ignored, SIGCHLD)
        pthread_sigmask(SIG_BLOCK, nil, &blocked)
    }

    /// Notes them. To be called on the main thread, before a signal is ignored, handled or blocked.
    package static func note() { _ = own }

    /// Whether the caller ignores a signal. False for SIGCHLD, which a process needs that waits for others.
    package static func ignores(_ number: Int32) -> Bool {
        var ignored = own.ignored
        return sigismember(&ignored, number) == 1
    }

    /// Ignores the signals that a program may send to its process group for a purpose of its own, and that would end this one.
    package static func ignoreOthers() {
        let others = [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT]
        let realTime = __libc_current_sigrtmin()...__libc_current_sigrtmax()
        for number in others + realTime { signal(number, SIG_IGN) }
    }

    /// A descriptor from which signals come, for `takeSent`, that another process sends. Those that the kernel sends, as for a key of
    /// a terminal, do nothing, and ones that the caller ignores neither. To be called once.
    ///
    /// - Throws: `SystemError` of pipe2 or sigaction.
    package static func sent(_ numbers: [Int32]) throws(SystemError) -> Int32 {
        let numbers = numbers.filter { !ignores($0) }
        let descriptor = squall_open_sent_signals(numbers, Int32(numbers.count))
        guard descriptor >= 0 else { throw SystemError(call: "sigaction", code: -descriptor) }
        for number in numbers { ProcessLimits.unblock(number) }
        return descriptor
    }

    /// The next signal that has come; `nil` for none.
    package static func takeSent(from descriptor: Int32) -> Int32? {
        var number: UInt8 = 0
        return read(descriptor, &number, 1) == 1 ? Int32(number) : nil
    }

    /// Has a program start with them, provided that this process has gone on to ignore those that its caller ignores.
    static func apply(to attributes: inout posix_spawnattr_t) {
        var (others, blocked) = (sigset_t(), own.blocked)
        sigfillset(&others)
        for number in 1..<Int32(NSIG) where ignores(number) { sigdelset(&others, number) }
        posix_spawnattr_setsigdefault(&attributes, &others)
        posix_spawnattr_setsigmask(&attributes, &blocked)
    }
}
