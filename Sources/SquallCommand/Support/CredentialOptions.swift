import ArgumentParser
import FoundationEssentials
import OperatingSystem
import ProfileFiles
import SquallTransfer
import SystemPackage
import TerminalDisplay
import TransferReports

/// The credential options of a transfer. Messages never contain their values.
struct CredentialOptions: ParsableArguments {
    @Option(
        name: [.customShort("u"), .long],
        help: ArgumentHelp(
            "The name and password for the server; without the password it comes from --password-file, from "
                + "SQUALL_PASSWORD or from the terminal. Other users see a command line.",
            valueName: "name[:password]"
        )
    )
    var user: String?

    @Option(
        help: ArgumentHelp("The file whose first line is the password of --user.", valueName: "file"),
        completion: .file()
    )
    var passwordFile: String?

    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp(
            "A field to send with each request, such as 'Authorization: Bearer …'; @FILE has one on each line. Can be "
                + "given again.",
            valueName: "field"
        )
    )
    var header: [String] = []

    @Flag(name: [.customShort("n"), .long], help: "Look names and passwords up in ~/.netrc, by host.")
    var netrc = false

    @Option(
        help: ArgumentHelp("Look names and passwords up in this file, by host.", valueName: "file"),
        completion: .file()
    )
    var netrcFile: String?

    func validate() throws {
        if user != nil, netrc || netrcFile != nil {
            throw ValidationError("--user and --netrc are for the same: give one of them")
        }
        if netrc, netrcFile != nil {
            throw ValidationError("--netrc and --netrc-file are for the same: give one of them")
        }
        if passwordFile != nil, user == nil { throw ValidationError("--password-file is for the password of --user") }
        if passwordFile != nil, user?.contains(":") == true {
            throw ValidationError("--user has a password already: leave out the colon, or --password-file")
        }
    }

    /// Adds the fields and credentials, after reading files and possibly prompting for a password.
    func apply(to request: inout TransferRequest, forUpload isForUpload: Bool = false) throws(CommandFailure) {
        try addFields(to: &request, isForUpload)
        if user != nil, request.headers[.authorization] != nil {
            throw .wrongInput("--user and the field Authorization are for the same: give one of them")
        }
        request.credentials = if user != nil { try basic() } else { try logins() }
    }

    private func basic() throws(CommandFailure) -> TransferCredentials? {
        guard let user else { return nil }
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let password = try parts.count > 1 ? parts[1] : password(of: user)
        return try CommandFailure.attempting("--user can't be sent", code: .wrongInput) {
            try TransferCredentials.checked(name: parts[0], password: password)
        }
    }

    private func password(of user: String) throws(CommandFailure) -> String {
        if let passwordFile {
            let bytes = try CredentialOptions.secret(
                passwordFile,
                limit: TransferCredentials.maximumSize + 2,
                "--password-file"
            )
            let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
            return String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
        }
        if let password = ProcessInfo.processInfo.environment["SQUALL_PASSWORD"] { return password }
        do throws(SystemError) {
            if let password = try Terminal.secret(prompt: "Password of \(user.quoted): ") { return password }
        } catch {
            throw .wrongInput(
                "--user needs a password, and there is no terminal to ask on: give --password-file or SQUALL_PASSWORD"
            )
        }
        throw .wrongInput("no password was given")
    }

    private func addFields(to request: inout TransferRequest, _ isForUpload: Bool) throws(CommandFailure) {
        func add(_ text: String, _ place: String) throws(CommandFailure) {
            try CommandFailure.attempting(place, code: .wrongInput) {
                try request.addHeader(text, isForUpload: isForUpload)
            }
        }
        for (index, text) in header.enumerated() {
            guard text.hasPrefix("@") else {
                try add(text, "--header \(index + 1)")
                continue
            }
            let path = String(text.dropFirst())
            let bytes = try CredentialOptions.secret(path, limit: CredentialOptions.maximumFileSize, "--header")
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for (number, line) in lines.enumerated() {
                let text = String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
                if !text.isEmpty { try add(text, "\(path):\(number + 1)") }
            }
        }
        guard request.headers.count <= TransferRequest.maximumHeaders else {
            throw .wrongInput("there are more than \(TransferRequest.maximumHeaders) fields (--header): leave some out")
        }
    }

    private func logins() throws(CommandFailure) -> TransferCredentials? {
        guard netrc || netrcFile != nil else { return nil }
        let home = ProcessInfo.processInfo.environment["HOME"] ?? ""
        guard netrcFile != nil || !home.isEmpty else {
            throw .wrongInput("HOME isn't set, so there is no ~/.netrc: give --netrc-file FILE")
        }
        let path = netrcFile ?? "\(home)/.netrc"
        let bytes = try CredentialOptions.secret(
            path,
            limit: Netrc.maximumSize + 1,
            netrcFile == nil ? "--netrc" : "--netrc-file"
        )
        do {
            let netrc = try Netrc(bytes)
            // The `default` entry applies to hosts named by the caller, not by a server.
            return .byHost { netrc.credentials(for: $0, orDefault: $1) }
        } catch {
            throw .wrongInput("\(path):\(error.line): \(error.kind)")
        }
    }

    /// The maximum size of a `--header` file: 64 KiB.
    private static let maximumFileSize = 64 << 10

    /// The bytes of a file with secrets; warns when others can read it.
    static func secret(_ path: String, limit: Int, _ option: String) throws(CommandFailure) -> [UInt8] {
        let bytes = try RegularFile.bytes(of: path, limit: limit, named: "“\(path)” (\(option))")
        let others: FilePermissions = [.groupRead, .otherRead]
        if let facts = try? FilePath(path).stat(), !facts.permissions.isDisjoint(with: others) {
            Console.warn(
                "other users can read “\(path)” (\(option)), which is to have secrets: chmod 600 keeps them out"
            )
        }
        return bytes
    }
}
