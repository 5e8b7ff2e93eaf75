import ArgumentParser
import CommandParsing
import ProxyEngine
import Units

/// The resource limits of a proxy.
struct LimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Bytes that one direction of a connection may hold in memory. (default: 8 MiB)",
            valueName: "size"
        ),
        transform: ArgumentReading.size
    )
    var linkMemory = LimitOptions.usualMemory

    @Option(help: ArgumentHelp("Connections at a time; one more is reset.", valueName: "count"))
    var connectionLimit = LimitOptions.usualConnections

    private static let usualMemory = ByteCount.mebibytes(8)
    private static let usualConnections = 16_384

    func validate() throws {
        guard connectionLimit > 0 else { throw ValidationError("--connection-limit is at least 1") }
        guard linkMemory >= .kibibytes(4), linkMemory <= .mebibytes(1_024) else {
            throw ValidationError("--link-memory is from 4 KiB to 1024 MiB")
        }
    }

    /// The arguments that give these limits again, without spaces; none for the defaults.
    var arguments: [String] {
        let memory = linkMemory == Self.usualMemory ? [] : ["--link-memory", linkMemory.text.filter { $0 != " " }]
        return memory + (connectionLimit == Self.usualConnections ? [] : ["--connection-limit", "\(connectionLimit)"])
    }

    /// Applies the limits to a proxy configuration.
    func apply(to configuration: inout ProxyConfiguration) {
        configuration.linkHoldLimit = linkMemory
        configuration.connectionLimit = connectionLimit
    }
}
