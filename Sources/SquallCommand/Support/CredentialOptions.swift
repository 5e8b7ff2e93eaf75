import ArgumentParser
import FoundationEssentials
import OperatingSystem
import ProfileFiles
import SystemPackage
import TerminalDisplay
import TransferProtocol
import Units

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

    @Option(help: ArgumentHelp("The file whose first line is the password of --user.", valueName: "file"))
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

    @Option(help: ArgumentHelp("Look names and passwords up in this file, by host.", valueName: "file"))
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

    /// The credentials, after reading files and possibly prompting for a password.
    func credentials(forUpload isForUpload: Bool = false) throws(CommandFailure) -> RequestCredentials {
        let fields = try fields(isForUpload)
        if user != nil, fields.contains(where: \.isAuthorization) {
            throw .wrongInput("--user and the field Authorization are for the same: give one of them")
        }
        return RequestCredentials(basic: try basic(), fields: fields, netrc: try logins())
    }

    private func basic() throws(CommandFailure) -> BasicCredentials? {
        guard let user else { return nil }
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let password = try parts.count > 1 ? parts[1] : password(of: user)
        do throws(CredentialProblem) {
            return try BasicCredentials(name: parts[0], password: password)
        } catch {
            throw .wrongInput("--user can't be sent: \(error)")
        }
    }

    private func password(of user: String) throws(CommandFailure) -> String {
        if let passwordFile {
            let bytes = try CredentialOptions.secret(
                passwordFile,
                limit: BasicCredentials.maximumSize + 2,
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

    private func fields(_ isForUpload: Bool) throws(CommandFailure) -> [RequestField] {
        var fields: [RequestField] = []
        for (index, text) in header.enumerated() {
            guard text.hasPrefix("@") else {
                fields.append(try CredentialOptions.field(text, isForUpload, "--header \(index + 1)"))
                continue
            }
            let path = String(text.dropFirst())
            let bytes = try CredentialOptions.secret(path, limit: CredentialOptions.maximumFileSize, "--header")
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for (number, line) in lines.enumerated() {
                let text = String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
                if !text.isEmpty {
                    fields.append(try CredentialOptions.field(text, isForUpload, "\(path):\(number + 1)"))
                }
            }
        }
        guard fields.count <= RequestField.maximumCount else {
            throw .wrongInput("there are more than \(RequestField.maximumCount) fields (--header): leave some out")
        }
        return fields
    }

    private static func field(_ text: String, _ isForUpload: Bool, _ place: String) throws(CommandFailure)
        -> RequestField
    {
        do throws(RequestFieldProblem) {
            return try RequestField(text, isForUpload: isForUpload)
        } catch {
            throw .wrongInput("\(place): \(error)")
        }
    }

    private func logins() throws(CommandFailure) -> Netrc? {
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
        do throws(NetrcProblem) {
            return try Netrc(bytes)
        } catch {
            throw .wrongInput("\(path):\(error.line): \(error.kind)")
        }
    }

    /// The maximum size of a `--header` file: 64 KiB.
    private static let maximumFileSize = 64 << 10

    /// The bytes of a file with secrets; warns when others can read it.
    static func secret(_ path: String, limit: Int, _ option: String) throws(CommandFailure) -> [UInt8] {
        let bytes: [UInt8]
        do throws(RegularFileProblem) {
            bytes = try RegularFile.bytes(of: path, limit: limit)
        } catch {
            throw .wrongInput("can't read “\(path)” (\(option)): \(error.reason) (\(error.remedy))")
        }
        let others: FilePermissions = [.groupRead, .otherRead]
        if let facts = try? FilePath(path).stat(), !facts.permissions.isDisjoint(with: others) {
            Console.warn("“\(path)” has secrets, and other users can read it: chmod 600 keeps them out")
        }
        return bytes
    }
}

extension CredentialProblem: CustomStringConvertible {
    /// The problem as a clause.
    public var description: String {
        switch self {
        case .colonInName: "a name has no colon"
        case .controlCharacter: "there is a control character in it"
        case .tooLong: "it is longer than \(BasicCredentials.maximumSize) bytes"
        }
    }
}

extension RequestFieldProblem: CustomStringConvertible {
    /// The problem and its remedy as a clause.
    public var description: String {
        switch self {
        case .noColon: "there is no colon: write 'Name: value'"
        case .invalidName: "the name in front of the colon is none of a field: write 'Name: value'"
        case .invalidValue: "the value has a control character: leave it out"
        case .reserved("host"): "the field host is the URL's: name the host there"
        case .reserved("proxy-authorization"):
            "the field proxy-authorization is the proxy's: put NAME:PASSWORD@ in front of its host"
        case .reserved("content-type"): "the field content-type has an option of its own: use --content-type"
        case .reserved(let name): "the client sets the field \(name) itself: leave it out"
        case .tooLong: "the value is longer than \(RequestField.maximumValueSize) bytes"
        }
    }
}

extension NetrcProblem.Kind: CustomStringConvertible {
    /// The problem and its remedy as a clause.
    public var description: String {
        switch self {
        case .tooLong: "the file is longer than \(ByteCount(Int64(Netrc.maximumSize)).text): is it a .netrc?"
        case .notText: "the file is no text in UTF-8: is it a .netrc?"
        case .openQuote: "a text in quotes doesn't end on its line: close it, or write \\\" for a quote in it"
        case .unknownWord:
            "there is a word that isn't machine, default, login, password, account or macdef: put a value with white space in "
                + "double quotes"
        case .noValue: "the value of the last word is missing: add it"
        case .noMachine: "a login or a password comes before the first machine: write “machine NAME” in front of it"
        case .credentials(let problem): "the login of this machine can't be sent: \(problem)"
        }
    }
}
