import Foundation
import Testing

/// The example `queue`: a program that submits and exits, and is started again.
@Suite(.timeLimit(.minutes(2))) struct QueueTests {
    private func run(_ arguments: String..., state: URL) throws -> String {
        let program = Process()
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        program.executableURL = tests.deletingLastPathComponent().appendingPathComponent("queue")
        program.arguments = arguments
        program.environment = ["XDG_STATE_HOME": state.path]
        let output = Pipe()
        program.standardOutput = output
        try program.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        program.waitUntilExit()
        return text
    }

    @Test func `a program that is started again has the transfer that it asked for`() throws {
        let file = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) })
        let server = FileServer(file)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("queue-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let copy = folder.appendingPathComponent("copy").path
        #expect(try run("submit", "http://\(server.address)/file", copy, state: folder) == "job 1\n")
        let told = try run("attach", state: folder)
        #expect(told.hasPrefix("job 1 completed 300000 bytes"))
        #expect(FileManager.default.contents(atPath: copy) == file)
    }
}
