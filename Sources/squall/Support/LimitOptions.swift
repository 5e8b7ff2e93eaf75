import ArgumentParser
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
    var linkMemory = ByteCount.mebibytes(8)

    @Option(help: ArgumentHelp("Connections at a time; one more is reset.", valueName: "count"))
    var connectionLimit = 16_384

    func validate() throws {
        guard connectionLimit > 0 else { throw ValidationError("--connection-limit is at least 1") }
        guard linkMemory >= .kibibytes(4), linkMemory <= .mebibytes(1_024) else {
            throw ValidationError("--link-memory is from 4 KiB to 1024 MiB")
        }
    }

    /// Applies the limits to a proxy configuration.
    func apply(to configuration: inout ProxyConfiguration) {
        configuration.linkHoldLimit = linkMemory
        configuration.connectionLimit = connectionLimit
    }
}
