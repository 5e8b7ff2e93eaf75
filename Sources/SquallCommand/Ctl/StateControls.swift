import ArgumentParser
import FaultProfile

/// `squall ctl profiles`.
struct ProfilesControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profiles",
        abstract: "List the profiles that the server knows."
    )

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let (response, node) = try await control.client().failing("Failed to retrieve profiles") {
            client throws(ControlClient.Failure) in
            let response = try await client.send("GET", ["v1", "profiles"])
            return (response, try response.json())
        }
        if control.json { return ControlOutput.show(response) }
        let table = ControlTable(
            headings: ["name", "source", "problems", "summary"],
            rows: (node["profiles"]?.elements ?? []).map { profile in
                [
                    profile["name"]?.cell ?? "", profile["source"]?.cell ?? "-",
                    "\(profile["problems"]?.elements.count ?? 0)", profile["summary"]?.cell ?? "",
                ]
            }
        )
        ControlOutput.show(table, orElse: "no profiles")
    }
}

/// `squall ctl snapshot`.
struct SnapshotControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot",
        abstract: "Print the whole state of the server as JSON, for squall ctl restore."
    )

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let response = try await control.client().failing("Failed to retrieve the snapshot") {
            client throws(ControlClient.Failure) in
            try await client.send("GET", ["v1", "snapshot"])
        }
        ControlOutput.show(response)
    }
}

/// `squall ctl restore`.
struct RestoreControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Replace the whole state of the server by a snapshot."
    )

    @Argument(help: "The file of the snapshot.", completion: .file())
    var file: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        let body = try ControlFile.read(file, "snapshot")
        let response = try await client.failing("Failed to restore \(file)") { client throws(ControlClient.Failure) in
            try await client.send("PUT", ["v1", "snapshot"], body: body)
        }
        if control.json { return ControlOutput.show(response) }
        Console.print("Restored \(file)")
    }
}

/// `squall ctl reset`.
struct ResetControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Enable every proxy and remove every toxic."
    )

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let response = try await control.client().failing("Failed to reset") { client throws(ControlClient.Failure) in
            try await client.send("POST", ["reset"])
        }
        if control.json { return ControlOutput.show(response) }
        Console.print("Enabled every proxy and removed every toxic")
    }
}

/// `squall ctl populate`.
struct PopulateControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "populate",
        abstract: "Create or replace the proxies of a file, and list them."
    )

    @Argument(
        help: "A JSON list of proxies with name, listen and upstream.",
        completion: .file(extensions: ["json"])
    )
    var file: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        let body = try ControlFile.read(file, "list of proxies")
        let (response, node) = try await client.failing("Failed to populate: Populate") {
            client throws(ControlClient.Failure) in
            let response = try await client.send("POST", ["populate"], body: body)
            return (response, try response.json())
        }
        if control.json { return ControlOutput.show(response) }
        ControlOutput.show(ListControl.table(node["proxies"]?.elements ?? []), orElse: "no proxies")
    }
}

/// Files that are sent to the server.
enum ControlFile {
    /// The limit of the server: 8 MiB.
    private static let maximumSize = 8 << 20

    /// The bytes of a file that has `what`.
    static func read(_ path: String, _ what: String) throws(CommandFailure) -> [UInt8] {
        switch ProfileLibrary.read(path, what, limit: maximumSize) {
        case .failure(let error): throw .wrongInput("\(error.what) (\(error.remedy))")
        case .success(let source):
            guard source.bytes.count <= maximumSize else {
                throw .wrongInput("“\(path)” has more than 8 MiB, the most that a server takes")
            }
            return source.bytes
        }
    }
}
