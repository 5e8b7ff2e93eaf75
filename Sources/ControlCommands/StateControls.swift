import ArgumentParser
import ControlService
import FaultProfile
import ProfileFiles
import TerminalDisplay

/// `squall ctl profiles`.
struct ProfilesControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profiles",
        abstract: "List the profiles that the server knows."
    )

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let (response, node) = try await control.client().failing("Failed to retrieve profiles")
            .fetch(["v1", "profiles"])
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
        let response = try await control.client().failing("Failed to retrieve the snapshot")
            .send("GET", ["v1", "snapshot"])
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
        let body = try ControlFile.read(file, "snapshot", isList: false)
        let response = try await client.failing("Failed to restore \(file)")
            .send("PUT", ["v1", "snapshot"], body: body)
        control.tell(response, "Restored \(file)")
    }
}

/// `squall ctl reset`.
struct ResetControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Enable every proxy and remove every toxic."
    )

    @Flag(help: "Remove profiles and added faults as well.")
    var all = false

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let response = try await control.client().failing("Failed to reset")
            .send("POST", all ? ["v1", "reset"] : ["reset"])
        control.tell(response, "Enabled every proxy and removed every toxic\(all ? ", profile and fault" : "")")
    }
}

/// `squall ctl populate`.
struct PopulateControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "populate",
        abstract: "Create or replace the proxies of a file, with their toxics and profiles, and list them.",
        discussion: """
            A proxy that is there already, with the same addresses, goes on, and gets the toxics and the profile that the \
            file gives it. A Toxiproxy takes neither from a file.
            """
    )

    @Argument(
        help: "A JSON list of proxies with name, listen and upstream, as for squall serve --config.",
        completion: .file(extensions: ["json"])
    )
    var file: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        let body = try ControlFile.read(file, "list of proxies", isList: true)
        let (response, node) = try await client.failing("Failed to populate: Populate") {
            client throws(ControlClient.Failure) in
            let response = try await PopulateControl.send(body, by: client)
            return (response, try response.json())
        }
        if control.json { return ControlOutput.show(response) }
        ControlOutput.show(ListControl.table(node["proxies"]?.elements ?? []), orElse: "no proxies")
    }
}

extension PopulateControl {
    /// Sends a list of proxies in the way that the server has.
    private static func send(
        _ body: [UInt8],
        by client: ControlClient
    ) async throws(ControlClient.Failure) -> ControlClient.Response {
        do throws(ControlClient.Failure) {
            return try await client.send("POST", ["v1", "populate"], body: body)
        } catch {
            // Toxiproxy has no such path, nor has an earlier Squall. Other errors have other codes, such as of a profile.
            guard error.status == 404, [nil, "not-found"].contains(error.code) else { throw error }
        }
        let response = try await client.send("POST", ["populate"], body: body)
        let toxics = (try? JSONReader.firstValue(of: body, name: "file"))?.elements
            .reduce(0) { $0 + ($1["toxics"]?.elements.count ?? 0) }
        if let toxics, toxics > 0 { Console.warn("the server takes no toxics from a file, and has left out \(toxics)") }
        return response
    }
}

/// Files that are sent to the server.
enum ControlFile {
    /// The limit of the server: 8 MiB.
    private static let maximumSize = 8 << 20

    /// The bytes of a file that has `what`.
    static func read(_ path: String, _ what: String, isList: Bool) throws(CommandFailure) -> [UInt8] {
        switch ProfileLibrary.readDocument(path, what, limit: maximumSize, isList: isList) {
        case .failure(let error): throw .wrongInput("\(error.what) (\(error.remedy))")
        case .success(let source):
            guard source.bytes.count <= maximumSize else {
                throw .wrongInput("“\(path)” has more than 8 MiB, the most that a server takes")
            }
            return source.bytes
        }
    }
}
