/// Metrics in Prometheus' text format, version 0.0.4.
struct PrometheusText {
    static let type = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    mutating func begin(_ name: String, _ kind: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
    }

    mutating func add(_ name: String, _ labels: [(String, String)], _ value: String) {
        let pairs = labels.map { "\($0.0)=\"\(PrometheusText.escaped($0.1))\"" }
        text += name + (pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") + " \(value)\n"
    }

    /// The value of a label: backslashes, quotes and line feeds are escaped.
    static func escaped(_ value: String) -> String {
        var text = ""
        // By scalars: with a carriage return before it, or a combining mark after it, each of them is another character.
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
