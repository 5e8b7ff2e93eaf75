import FaultProfile

/// The profile of a text that extends nothing.
func profile(_ text: String, file: String = "p.json") throws(ProfileProblems) -> Profile {
    try ProfileReader.profile(from: ProfileSource(file: file, text: text))
}

/// What is wrong with a text, each as "line:column: what (what to do)"; empty when it is a profile.
func problems(_ text: String) -> [String] {
    problems(bytes: Array(text.utf8))
}

func problems(bytes: [UInt8]) -> [String] {
    do {
        _ = try ProfileReader.profile(from: ProfileSource(file: "p.json", bytes: bytes))
        return []
    } catch {
        return error.description.split(separator: "\n").map { line in
            String(line.hasPrefix("p.json:") ? line.dropFirst("p.json:".count) : line)
        }
    }
}

/// What is wrong with a fault, which stands in a profile such that its column is its own.
func problems(fault: String) -> [String] {
    problems("{ \"name\": \"x\", \"faults\": [\n\(fault)\n] }")
}
