import SquallCommand

/// `squall demo` as a program of its own, without TLS and the control server, which take half of the first build.
@main
enum SquallDemo {
    @MainActor static func main() async {
        await CommandServices().run(["squall", "demo"] + CommandLine.arguments.dropFirst())
    }
}
