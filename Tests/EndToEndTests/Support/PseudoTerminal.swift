import Foundation
import Glibc
import TestStreams

/// A pseudo-terminal that can be stopped, as by Ctrl-S.
final class PseudoTerminal: Sendable {
    /// The path for programs to open.
    let path: String
    /// The text shown on it.
    let shown: TextStream
    /// Kept open, so that output isn't lost when the last program has closed it.
    private let descriptor: Int32
    private let controller: Int32

    /// Makes a terminal; one that isn't shown has no reader.
    init(isShown: Bool = true) throws {
        // What posix_openpt(3), unlockpt(3) and ptsname(3) do, which Glibc doesn't export to Swift; see ioctl_tty(2).
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

    /// Sets its width, with 24 lines.
    func resize(columns: UInt16) {
        // struct winsize of TIOCSWINSZ: lines, columns, and two unused fields.
        var size = UInt64(24) | UInt64(columns) << 16
        _ = ioctl(controller, 0x5414, &size)
    }

    /// Stops the output: writers block.
    func stop() { _ = tcflow(descriptor, TCOOFF) }

    /// Continues the output.
    func start() { _ = tcflow(descriptor, TCOON) }

    /// Types `text`.
    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(controller, bytes, bytes.count)
    }

    /// Hangs up a terminal that isn't shown, once: programs with this controlling terminal get SIGHUP.
    func disconnect() {
        _ = close(controller)
        _ = close(descriptor)
    }

    /// Closes it, once; shown output ends when the programs have closed it too.
    func hangUp() { _ = close(descriptor) }
}
