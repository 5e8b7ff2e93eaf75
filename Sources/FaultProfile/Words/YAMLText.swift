/// Recognizes YAML, which is what configurations of many other tools are written in.
enum YAMLText {
    static let endings = [".yaml", ".yml"]

    /// Whether a text that isn't JSON was meant as YAML: by the ending of its file, or because the first line with content
    /// is `---`, or has a key with a colon. 64 KiB are read.
    static func isMeant(by source: ProfileSource) -> Bool {
        if endings.contains(where: source.file.hasSuffix) { return true }
        let text = String(decoding: source.bytes.prefix(64 << 10), as: UTF8.self)
        let lines = text.split { $0.isNewline }.map { $0.drop { $0 == " " } }
        guard let line = lines.first(where: { !$0.isEmpty && !$0.hasPrefix("#") }) else { return false }
        if line.hasPrefix("---") { return true }
        let key = (line.hasPrefix("- ") ? line.dropFirst(2) : line).prefix {
            $0.isLetter || $0.isNumber || "_-$".contains($0)
        }
        let rest = line[key.endIndex...]
        return !key.isEmpty && (rest == ":" || rest.hasPrefix(": "))
    }
}
