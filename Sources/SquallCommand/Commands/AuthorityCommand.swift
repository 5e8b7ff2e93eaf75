import ArgumentParser
import FaultProfile
import HTTPTransport
import TerminalDisplay

/// `squall authority`: certificate authorities that outlast a run.
struct AuthorityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authority",
        abstract: "Make a certificate authority that a phone or a CI trusts once.",
        subcommands: [Create.self]
    )
}

extension AuthorityCommand {
    /// `squall authority create`: makes one.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Make an authority for --authority of squall run, exec, test, serve, replay and shrink.",
            discussion: """
                FILE gets its certificates and the key that signs, with mode 0600; FILE.crt is for clients to trust. It \
                signs for the names of --for, all hosts below them, localhost, 127.0.0.1 and ::1, and clients refuse it for \
                others. The root's key is dropped.

                Example: squall authority create squall.pem --for api.example.com
                """
        )

        @Argument(help: "The file to make.", completion: .file())
        var file: String

        @Option(
            name: .customLong("for"),
            help: ArgumentHelp("A host or an address that clients call. Can be given again.", valueName: "name"),
            transform: Create.name
        )
        var names: [String]

        @Option(help: ArgumentHelp("How long it is valid, from 1 to 825; the first hour is past.", valueName: "days"))
        var days = 365

        func validate() throws {
            guard (1...825).contains(days) else {
                throw ValidationError("--days is from 1 to 825, the most that Apple's systems take")
            }
            guard names.count <= Create.nameLimit else {
                throw ValidationError("--for is given at most \(Create.nameLimit) times")
            }
        }

        /// The most names of an authority.
        private static let nameLimit = 100

        /// A host's name or a numeric address.
        private static func name(_ text: String) throws -> String {
            func wrong(_ remedy: String) -> ValidationError {
                ValidationError("it is no name of a host; \(remedy)")
            }
            if text.hasPrefix("*.") {
                throw wrong("write \(text.dropFirst(2)), which has all hosts below it")
            }
            let labels = text.split(separator: ".", omittingEmptySubsequences: false)
            let isName = labels.allSatisfy { label in
                (1...63).contains(label.utf8.count)
                    && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
            }
            guard isName || IPAddress(text) != nil, text.utf8.count <= 253 else {
                throw wrong("write it alone, without scheme, port and path, such as api.example.com")
            }
            return text
        }

        func run() async throws {
            let made: (text: String, certificate: String)
            do {
                guard let tls = CommandServices.current.tls else {
                    throw CommandFailure.wrongInput("\(TLSSettingsProblem.unavailable); \(TLSFailure.buildAdvice)")
                }
                made = try tls.lastingAuthority(for: names, days: days)
            } catch let failure as CommandFailure {
                throw failure
            } catch {
                throw CommandFailure.failed("can't make an authority: \(error)")
            }
            try LastingAuthority.write(made.text, made.certificate, to: file)
            Console.print(
                lines: """
                    authority: \(file) (keep it: it signs for \(names.joined(separator: ", ")), for \(days) days)
                    trust: \(file)\(LastingAuthority.trustSuffix) (for clients; nothing is installed)
                    """
            )
            // So that the same line works once its output can be written. `Program` reports the failure.
            if Console.finish() != nil { LastingAuthority.remove(file) }
        }
    }
}
