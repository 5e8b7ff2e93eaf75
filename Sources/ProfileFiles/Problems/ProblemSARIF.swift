import FaultProfile
import Units

/// Problems in the Static Analysis Results Interchange Format (OASIS SARIF 2.1.0).
package enum ProblemSARIF {
    /// The URL of the format's schema.
    static let schema = "https://json.schemastore.org/sarif-2.1.0.json"

    /// A log with one run of this version of the command, whose results are the problems; on one line.
    package static func text(of problems: [Problem], version: String) -> String {
        let driver: [(key: String, value: JSONText)] = [
            ("name", .text("squall check")),
            ("version", .text(version)),
            ("rules", .array(Problem.Code.allCases.map(rule))),
        ]
        let run: [(key: String, value: JSONText)] = [
            ("tool", .object([("driver", .object(driver))])),
            // Columns count Unicode scalars, see `Problem.column`.
            ("columnKind", .text("unicodeCodePoints")),
            ("results", .array(problems.map(result))),
        ]
        let log = JSONText.object([
            ("$schema", .text(schema)), ("version", .text("2.1.0")), ("runs", .array([.object(run)])),
        ])
        return log.compact.visibleJSON
    }

    private static func rule(_ code: Problem.Code) -> JSONText {
        .object([("id", .text(code.rawValue)), ("shortDescription", message(description(of: code)))])
    }

    private static func description(of code: Problem.Code) -> String {
        switch code {
        case .syntax: "The file isn't JSON."
        case .missingKey: "A required key is missing."
        case .unknownKey: "A key isn't one that the object has."
        case .wrongType: "A value has another type."
        case .unknownValue: "A word isn't one of the values that the key has."
        case .invalidValue: "A value is out of range, or contradicts another one."
        case .notFound: "A file or a shipped profile can't be read."
        case .doubtful: "A part of a valid profile probably does something else than it was written for."
        }
    }

    private static func result(of problem: Problem) -> JSONText {
        var location: [(key: String, value: JSONText)] = [
            ("artifactLocation", .object([("uri", .text(uri(of: problem.file)))]))
        ]
        if problem.line > 0 {
            let region: [(key: String, value: JSONText)] = [
                ("startLine", .number(UInt64(problem.line))), ("startColumn", .number(UInt64(problem.column))),
            ]
            location.append(("region", .object(region)))
        }
        return .object([
            ("ruleId", .text(problem.code.rawValue)),
            ("level", .text(problem.code == .doubtful ? "warning" : "error")),
            ("message", message("\(problem.what) (\(problem.remedy))")),
            ("locations", .array([.object([("physicalLocation", .object(location))])])),
        ])
    }

    private static func message(_ text: String) -> JSONText { .object([("text", .text(text))]) }

    /// A path as a URI reference (RFC 3986): an absolute one with the scheme `file`, a relative one as it is.
    private static func uri(of path: String) -> String {
        let path = path.hasPrefix("./") ? path.dropFirst(2) : path[...]
        let digits = Array("0123456789ABCDEF")
        let encoded = path.utf8.reduce(into: "") { result, byte in
            let scalar = Unicode.Scalar(byte)
            if scalar.isASCII,
                scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                    || "-._~/".unicodeScalars.contains(scalar)
            {
                result.unicodeScalars.append(scalar)
            } else {
                result += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return path.hasPrefix("/") ? "file://\(encoded)" : encoded
    }
}
