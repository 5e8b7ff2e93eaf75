internal import FoundationEssentials
internal import HTTPTypes
internal import SystemPackage
internal import TransferProtocol

/// Why a referenced secret can't be had. Contains nothing of it.
struct QueueSecretProblem: Error, Hashable, CustomStringConvertible {
    var description: String
}

/// Resolves the references of a transfer when it starts.
enum QueueSecrets {
    /// The credentials of a transfer.
    ///
    /// - Parameter memory: The values in memory, by the names of their fields in lower case.
    static func credentials(
        of transfer: QueuedTransfer,
        memory: [String: String]
    ) throws(QueueSecretProblem) -> RequestCredentials {
        var fields: [RequestField] = []
        for header in transfer.headers {
            let value = try value(of: header, memory)
            do throws(RequestFieldProblem) {
                fields.append(try RequestField("\(header.name): \(value)", isForUpload: transfer.direction == .upload))
            } catch {
                throw QueueSecretProblem(description: "the value of the header \(header.name) can't be sent")
            }
        }
        var netrc: Netrc?
        if let path = transfer.netrc {
            let bytes = try bytes(of: path, limit: Netrc.maximumSize)
            do throws(NetrcProblem) {
                netrc = try Netrc(bytes)
            } catch {
                throw QueueSecretProblem(description: "“\(path)” is no .netrc, see line \(error.line)")
            }
        }
        // The `default` entry applies to hosts named by the caller, not by a server.
        let byHost = netrc.map { netrc -> RequestCredentials.Lookup in
            { netrc.credentials(for: $0, orDefault: $1) }
        }
        return RequestCredentials(fields: fields, byHost: byHost)
    }

    private static func value(of header: QueueHeader, _ memory: [String: String]) throws(QueueSecretProblem) -> String {
        switch header.value {
        case .plain(let value): return value
        case .file(let path):
            let bytes = try bytes(of: path, limit: RequestField.maximumValueSize)
            let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
            return String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
        case .environment(let name):
            guard let value = ProcessInfo.processInfo.environment[name] else {
                throw QueueSecretProblem(
                    description: "the variable \(name), for the header \(header.name), isn't in the queue's environment"
                )
            }
            return value
        case .memory:
            guard let value = memory[header.name.lowercased()] else {
                throw QueueSecretProblem(
                    description:
                        "the header \(header.name) was in the memory of a process that has ended: give it again"
                )
            }
            return value
        }
    }

    /// The bytes of a small regular file.
    private static func bytes(of path: String, limit: Int) throws(QueueSecretProblem) -> [UInt8] {
        do throws(Errno) {
            let facts = try FilePath(path).stat()
            guard facts.type == .regular else { throw Errno.invalidArgument }
            guard facts.size <= Int64(limit) else { throw Errno.fileTooLarge }
            guard let data = FileManager.default.contents(atPath: path) else { throw Errno.permissionDenied }
            return Array(data)
        } catch {
            throw QueueSecretProblem(description: "can't read “\(path)”: \(error)")
        }
    }

    /// Checks a header without its value.
    static func check(_ header: QueueHeader, isForUpload: Bool) throws(QueueProblem) {
        var value = ""
        if case .plain(let plain) = header.value {
            guard QueueHeader.openNames.contains(header.name.lowercased()) else {
                throw .invalid(
                    "header \(header.name.prefix(40))",
                    "its value may be a secret, which the log doesn't keep: name a file or a variable that has it"
                )
            }
            value = plain
        }
        try check(value, of: header.name, isForUpload: isForUpload)
    }

    /// Checks a header with its value.
    static func check(_ value: String, of name: String, isForUpload: Bool = false) throws(QueueProblem) {
        do throws(RequestFieldProblem) {
            _ = try RequestField("\(name): \(value)", isForUpload: isForUpload)
        } catch {
            switch error {
            case .noColon, .invalidName: throw .invalid("headers", "the name of one is no token")
            case .invalidValue: throw .invalid("header \(name)", "its value has a control character")
            case .reserved(let name): throw .invalid("header \(name)", "the transfer sets it itself")
            case .tooLong: throw .invalid("header \(name)", "its value is too long")
            }
        }
    }
}
