import TerminalDisplay
import Testing

@testable import Demonstration

/// `squall demo --page` in a program without the control server.
struct DemoPageTests {
    @Test func `is refused with the command that has the page`() async throws {
        let command = try DemoCommand.parse(["--page", "--size", "1KiB"])
        let failure = await #expect(throws: CommandFailure.self) { try await command.run() }
        #expect(failure?.code == .wrongInput)
        #expect(failure?.lines.contains("squall demo --page") == true)
    }
}
