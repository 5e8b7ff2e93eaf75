import FaultProfile

/// The profile of a text that extends nothing.
func profile(_ text: String, file: String = "p.json") throws(ProfileProblems) -> Profile {
    try ProfileReader.profile(from: ProfileSource(file: file, text: text))
}

/// A trace of the folder of the shipped profiles; nothing else can be had.
func shippedTrace(_ reference: ProfileReference) -> Result<ProfileSource, ResolutionError> {
    guard case .trace(let path) = reference else {
        let what = "a profile can't extend another one here"
        return .failure(ResolutionError(what: what, remedy: "copy what it needs from the other one"))
    }
    guard let bytes = try? Repository.bytes(of: "Profiles/\(path)") else {
        return .failure(ResolutionError(what: "there is no such file", remedy: "write another path"))
    }
    return .success(ProfileSource(file: path, bytes: bytes))
}

/// What is wrong with a text, each as "line:column: what (what to do)"; empty when it is a profile.
func problems(_ text: String) -> [String] {
    problems(bytes: Array(text.utf8))
}

func problems(bytes: [UInt8]) -> [String] {
    do {
        let source = ProfileSource(file: "p.json", bytes: bytes)
        _ = try ProfileReader.profile(from: source, resolving: shippedTrace)
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
