import ArgumentParser
import CommandParsing
import Demonstration
import Units

/// `squall demo` as a program of its own, without TLS and the control server, which take half of the first build.
@main
struct SquallDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "squall",
        version: Version.current,
        subcommands: [DemoCommand.self]
    )

    @MainActor static func main() async {
        Program.prepare()
        let arguments = ["demo"] + CommandLine.arguments.dropFirst()
        await Program.run(SquallDemo.self, arguments) { _ in DemoCommand.openFiles }
    }
}
