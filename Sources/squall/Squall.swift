import ArgumentParser

@main
struct Squall: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "squall", abstract: "A network fault-injection proxy.")
}
