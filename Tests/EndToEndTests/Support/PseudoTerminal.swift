import Foundation
import Glibc

/// A terminal that can stand still, as after Ctrl-S.
final class PseudoTerminal: Sendable {
    /// The path that a program opens it by.
    let path: String
    /// What is shown on it.
    let shown: TextStream
    /// Kept open, so that what programs showed isn't lost when the last of them has closed it.
    private let descriptor: Int32
    private let controller: Int32

    /// Makes a terminal; nobody looks at one that isn't shown.
    init(isShown: Bool = true) throws {
        // What posix_openpt(3), unlockpt(3) and ptsname(3) do, which Glibc doesn't show to Swift; see ioctl_tty(2).
        controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: CInt = 0
        var number: CInt = 0
        guard controller >= 0, ioctl(controller, 0x4004_5431, &isLocked) == 0,
            ioctl(controller, 0x8004_5430, &number) == 0
        else { throw Complaint("no terminal can be had: errno \(errno)") }
        path = "/dev/pts/\(number)"
        descriptor = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Complaint("open(\(path)): errno \(errno)") }
        shown = TextStream(reading: isShown ? controller : open("/dev/null", O_RDONLY | O_CLOEXEC))
    }

    /// Gives it a width, and 24 lines.
    func resize(columns: UInt16) {
        // struct winsize of TIOCSWINSZ: lines, columns, and two that nobody uses.
        var size = UInt64(24) | UInt64(columns) << 16
        _ = ioctl(controller, 0x5414, &size)
    }

    /// Takes nothing more: whoever writes to it waits.
    func stop() { _ = tcflow(descriptor, TCOOFF) }

    /// Goes on.
    func start() { _ = tcflow(descriptor, TCOON) }

    /// Types `text` at its keyboard.
    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(controller, bytes, bytes.count)
    }

    /// Takes the line of one that isn't shown away, once: the system hangs up on the programs whose controlling terminal it
    /// is.
    func disconnect() {
        _ = close(controller)
        _ = close(descriptor)
    }

    /// Closes it, once; what is shown ends when the programs have closed it as well.
    func hangUp() { _ = close(descriptor) }
}
