import Foundation
import Glibc
import TestStreams
import Testing

@testable import TerminalDisplay

/// The live line of `squall demo` and `squall get` on a stopped terminal, as after Ctrl-S.
@Suite(.timeLimit(.minutes(5))) struct LiveLineTests {
    @Test func `printing more than a stuck terminal accepts doesn't block, and dropped lines are counted`()
        async throws
    {
        let pair = try StreamPair()
        let live = LiveLine(output: pair.writer.fileDescriptor, isOn: true, hasEscapes: true)
        let count = 10_000
        for number in 0..<count {
            live.print("line \(number) \(String(repeating: "x", count: 100))")
            live.draw(lines: ["\(number) so far"])
        }
        let shown = TextStream(reading: pair.reader)
        live.print("the last")
        live.clear()
        try pair.writer.close()
        let text = await shown.text()
        let told = text.matches(of: /line [0-9]+ x{100}/).count
        let dropped = text.matches(of: /… and ([0-9]+) lines? more/).compactMap { Int($0.output.1) }.reduce(0, +)
        #expect(told < count, "the buffer is bounded")
        #expect(told + dropped == count + (text.contains("the last") ? 0 : 1))
        #expect(text.utf8.count < 8 * LiveLine.limit)
        #expect(text.hasSuffix("\r\u{1B}[K"), "the live line is taken away")
    }

    @Test func `lines and the live line are written in order, all of them before clear returns`() throws {
        let pair = try StreamPair()
        let live = LiveLine(output: pair.writer.fileDescriptor, isOn: true, hasEscapes: true)
        live.draw(lines: ["one"])
        live.print("two")
        live.draw(lines: ["three"])
        live.clear()
        try pair.writer.close()
        let reader = FileHandle(fileDescriptor: pair.reader, closeOnDealloc: true)
        let data = try #require(try reader.readToEnd())
        let end = "\u{1B}[K"
        #expect(String(decoding: data, as: UTF8.self) == "\rone\(end)\rtwo\(end)\none\(end)\rthree\(end)\r\(end)")
    }

    @Test func `several lines are redrawn in place, and taken away`() throws {
        let pair = try StreamPair()
        let live = LiveLine(output: pair.writer.fileDescriptor, isOn: true, hasEscapes: true)
        live.draw(lines: ["one", TerminalColor.red.paint("two"), "three"])
        live.print("above")
        live.draw(lines: ["one"])
        live.draw(lines: ["one", "two"])
        live.clear()
        live.print("after")
        live.clear()
        try pair.writer.close()
        let reader = FileHandle(fileDescriptor: pair.reader, closeOnDealloc: true)
        let data = try #require(try reader.readToEnd())
        let end = "\u{1B}[K"
        let (first, up) = ("one\(end)\n\u{1B}[31mtwo\u{1B}[m\(end)\nthree\(end)", "\r\u{1B}[2A")
        let expected = [
            "\r\(first)", "\(up)above\(end)\n\(first)", "\(up)one\(end)\u{1B}[J", "\rone\(end)\ntwo\(end)",
            "\r\u{1B}[1A\u{1B}[J", "after\n",
        ]
        #expect(String(decoding: data, as: UTF8.self) == expected.joined())
    }

    @Test func `a terminal without escape sequences gets blanks, and unchanged lines aren't redrawn`()
        throws
    {
        let pair = try StreamPair()
        let live = LiveLine(output: pair.writer.fileDescriptor, isOn: true, hasEscapes: false)
        live.draw(lines: ["one two"])
        live.draw(lines: ["one two"])
        live.draw(lines: ["x"])
        live.print("three")
        live.clear()
        try pair.writer.close()
        let reader = FileHandle(fileDescriptor: pair.reader, closeOnDealloc: true)
        let data = try #require(try reader.readToEnd())
        #expect(String(decoding: data, as: UTF8.self) == "\rone two\rx      \rthree\nx\r \r")
    }
}
