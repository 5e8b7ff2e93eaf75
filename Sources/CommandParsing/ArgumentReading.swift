import ArgumentParser
import EventLoop
import FaultProfile
import Units

/// Parses command-line values, with errors that say how to write them.
package enum ArgumentReading {
    /// A size with its unit, such as "64MiB".
    package static func size(_ argument: String) throws -> ByteCount {
        try value(argument) { text throws(UnitError) in try ByteCount(parsing: text) }
    }

    /// A duration above zero with its unit, such as "60s".
    package static func duration(_ argument: String) throws -> Duration {
        let duration = try value(argument) { text throws(UnitError) in try Duration(parsing: text) }
        guard duration > .zero else { throw ValidationError("it is zero: write a duration above zero, such as 60s") }
        return duration
    }

    /// A rate above zero with its unit, such as "2MB/s".
    package static func rate(_ argument: String) throws -> BitRate {
        let rate = try value(argument) { text throws(UnitError) in try BitRate(parsing: text) }
        guard rate.bitsPerSecond > 0 else {
            throw ValidationError("it is zero: write a rate above zero, such as 2MB/s")
        }
        return rate
    }

    /// A duration, perhaps with its deviation, such as "200ms±50ms".
    static func spread(_ argument: String) throws -> DurationSpread {
        try value(argument) { text throws(UnitError) in try DurationSpread(parsing: text) }
    }

    /// A chance with its percent sign, such as "1%".
    static func chance(_ argument: String) throws -> Probability {
        try value(argument) { text throws(UnitError) in try Probability(parsing: text) }
    }

    /// A time without a network, such as "10s..15s" or "10s..15s=refuse".
    package static func outage(_ argument: String) throws -> EverydayOutage {
        try value(argument) { text throws(UnitError) in try EverydayOutage(parsing: text) }
    }

    /// The name of a host, or those below a domain, such as "api.example.com", "*.example.com" or "localhost:3000".
    package static func hostPattern(_ argument: String) throws -> HostPattern {
        try value(argument) { text throws(UnitError) in try HostPattern(parsing: text) }
    }

    /// A host and port, "127.0.0.1:8080", a port on loopback, ":8080", the same with TLS, "tls::8443" or
    /// "https://api.example.com", or a Unix socket, "unix:/run/app.sock".
    package static func endpoint(_ argument: String) throws -> Endpoint {
        if argument.hasPrefix("*:") {
            throw ValidationError("for all addresses write 0.0.0.0 or [::] in place of *")
        }
        if UnixSocketName.isMeant(by: argument) {
            let name = try value(argument) { text throws(UnitError) in try UnixSocketName(parsing: text) }
            return Endpoint(unix: name)
        }
        let address = try value(argument) { text throws(UnitError) in try SecureAddress.translated(text) }
        if let refusal = ForeignWords.refusal(ofAddress: address) {
            throw ValidationError("\(refusal.problem): \(refusal.remedy)")
        }
        guard let endpoint = Endpoint(SecureAddress.completing(address)) else {
            throw ValidationError(
                "write a host and a port up to 65535, such as 127.0.0.1:8080, localhost:80, [::1]:80 or :8080"
            )
        }
        return endpoint
    }

    /// File permissions: "0660".
    package static func fileMode(_ argument: String) throws -> SocketPermissions {
        try value(argument) { text throws(UnitError) in try SocketPermissions(parsing: text) }
    }

    /// The name of a proxy, as allowed in profiles: 1 to 100 characters without control characters.
    package static func proxyName(_ argument: String) throws -> String {
        let isPlain = argument.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard (1...100).contains(argument.unicodeScalars.count), isPlain else {
            throw ValidationError("a name has 1 to 100 characters, and no control character")
        }
        return argument
    }

    /// The value that `parse` reads, or its problem as an error of the command line.
    package static func value<Value>(_ argument: String, _ parse: (String) throws(UnitError) -> Value) throws -> Value {
        do throws(UnitError) {
            return try parse(argument)
        } catch {
            throw ValidationError("\(error.problem): \(error.remedy)")
        }
    }
}
