import Foundation
import Glibc
import TestSockets
import TestStreams
import Testing
import Units

@testable import OperatingSystem

struct LineWriterTests {
    /// The content of a file that `body` had written, by its path, which is gone afterwards.
    private func written(_ body: (String) throws -> Void) throws -> String {
        var template = Array("/tmp/squall-line-writer-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        defer {
            close(descriptor)
            unlink(path)
        }
        try body(path)
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            content += buffer.prefix(count)
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// A writer of the file that another has just been let go of: that one's thread may hold it for a moment longer.
    private func next(_ path: String, isHeld: Bool = false) throws -> LineWriter {
        let deadline = MonotonicClock.now + .seconds(60)
        while true {
            do throws(SystemError) {
                return try LineWriter(path: path, isHeld: isHeld)
            } catch {
                guard error.isLocked, MonotonicClock.now < deadline else { throw error }
            }
        }
    }

    @Test func `lines are written in their order, each with its end, the empty ones too`() throws {
        let text = try written { path in
            let writer = try LineWriter(path: path)
            for number in 0..<1_000 { writer.write("line \(number)") }
            writer.flush()
            writer.write("")
            writer.flush()
            let outcome = writer.flush()
            #expect(outcome.dropped == 0)
            #expect(outcome.failure == nil)
        }
        #expect(text == (0..<1_000).map { "line \($0)\n" }.joined() + "\n")
    }

    @Test func `bytes are written as they are, after the lines before them`() throws {
        let text = try written { path in
            let writer = try LineWriter(path: path)
            writer.write("line")
            // One character in two parts.
            for part in [[0xC3], [0xA9, 0x21]] as [[UInt8]] { writer.write(bytes: part) }
            writer.write("")
            writer.flush()
        }
        #expect(text == "line\né!\n")
    }

    @Test func `the file is emptied first`() throws {
        let text = try written { path in
            for line in ["the first time", "again"] {
                let writer = try next(path)
                writer.write(line)
                writer.flush()
            }
        }
        #expect(text == "again\n")
    }

    @Test func `a file that another writes is an error of its own, until that one has ended`() throws {
        let text = try written { path in
            do {
                let writer = try LineWriter(path: path)
                writer.write("mine")
                let error = #expect(throws: SystemError.self) { try LineWriter(path: path) }
                #expect(error?.isLocked == true)
                writer.write("and mine")
                writer.flush()
            }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine\nand mine\n")
            let writer = try next(path)
            writer.write("yours")
            writer.flush()
        }
        #expect(text == "yours\n")
    }

    @Test func `lines go to the end of a file that somebody else has shortened`() throws {
        let text = try written { path in
            let writer = try LineWriter(path: path)
            writer.write("lost")
            writer.flush()
            #expect(truncate(path, 0) == 0)
            writer.write("kept")
            writer.flush()
        }
        #expect(text == "kept\n")
    }

    @Test func `held lines are written when they are released, and until then the file keeps what it has`() throws {
        let text = try written { path in
            do {
                let before = try LineWriter(path: path)
                before.write("before")
                before.flush()
            }
            do {
                let given = try next(path, isHeld: true)
                given.write("never")
                given.flush()
            }
            let writer = try next(path, isHeld: true)
            writer.write("held")
            writer.flush()
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "before\n")
            writer.release()
            writer.write("and more")
            writer.flush()
        }
        #expect(text == "held\nand more\n")
    }

    @Test func `who has to know is told once that nothing is written any more`() throws {
        let told = Shared<[SystemError]>([])
        let writer = try LineWriter(path: "/dev/full") { error in told.update { $0.append(error) } }
        for _ in 0..<3 {
            writer.write("lost")
            writer.flush()
        }
        #expect(told.value == [SystemError(call: "write", code: ENOSPC)])
    }

    @Test func `a pipe that doesn't block is waited for`() async throws {
        let folder = try Folder()
        let path = folder.path + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDWR | O_CLOEXEC)
        defer { close(reader) }
        // The standard output of a process whose other holders don't want to wait.
        let output = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        let writer = LineWriter(owning: output)
        for _ in 0..<10_000 { writer.write("a line that nobody reads yet") }
        writer.write("the last")
        async let lineCount = blocking { LineWriterTests.linesBefore("the last\n", from: reader) }
        let outcome = try await blocking { writer.flush() }
        #expect(outcome.failure == nil && outcome.dropped == 0)
        #expect(try await lineCount == 10_000)
    }

    @Test func `a path that can't be opened is an error of open`() {
        let error = #expect(throws: SystemError.self) { try LineWriter(path: "/nonexistent/journal") }
        #expect(error == SystemError(call: "open", code: ENOENT))
    }

    @Test func `a full disk is told, and every line lost is counted, before and after`() throws {
        let writer = try LineWriter(path: "/dev/full")
        for _ in 0..<10 { writer.write("lost") }
        let outcome = writer.flush()
        #expect(outcome.failure == SystemError(call: "write", code: ENOSPC))
        #expect(outcome.dropped == 10)
        for _ in 0..<5 { writer.write("lost as well") }
        #expect(writer.flush().dropped == 15)
    }

    @Test func `when nobody reads, so many lines wait and no more`() async throws {
        let folder = try Folder()
        let path = folder.path + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDWR | O_CLOEXEC)
        defer { close(reader) }
        let writer = try LineWriter(path: path)
        let count = LineWriter.limit * 2 + 10_000
        // One batch may be with the pipe and one may wait; the rest is dropped.
        for _ in 0..<count { writer.write("a line that nobody reads yet") }
        async let lineCount = blocking { LineWriterTests.linesBefore("the last\n", from: reader) }
        let outcome = try await blocking { writer.flush() }
        writer.write("the last")
        let lines = try await lineCount
        #expect(outcome.failure == nil)
        // What came first may have been in the pipe, which takes 64 KiB, before the others came.
        #expect(outcome.dropped >= 7_000)
        #expect(lines == count - outcome.dropped)
    }

    private static func linesBefore(_ last: String, from descriptor: Int32) -> Int {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var tail: [UInt8] = []
        var lines = 0
        while tail != Array(last.utf8) {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            lines += buffer.prefix(count).count { $0 == 10 }
            tail = Array((tail + buffer.prefix(count)).suffix(last.utf8.count))
        }
        return lines - 1
    }
}
