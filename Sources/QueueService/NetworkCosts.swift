import FoundationEssentials
import OperatingSystem
import ProfileFiles
import TerminalDisplay

/// The interfaces whose networks cost something: lines of `squall/networks` in the folder of settings, such as
/// “wlan0 expensive”. Lines that begin with # are comments.
struct NetworkCosts {
    var expensive: Set<String> = []
    var constrained: Set<String> = []

    /// The largest file: 64 KiB.
    private static let maximumSize = 64 << 10

    /// Reads the file; without one there are none.
    init() throws(CommandFailure) {
        guard let path = UserFolders.settings.map({ $0 + "/squall/networks" }),
            FileManager.default.fileExists(atPath: path)
        else { return }
        let data = try CommandFailure.attempting("can't read “\(path)”", code: .wrongInput) {
            try Data(contentsOf: URL(filePath: path))
        }
        guard data.count <= Self.maximumSize else { throw .wrongInput("“\(path)” has more than 64 KiB") }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() where !line.hasPrefix("#") {
            let words = line.split { $0 == " " || $0 == "\t" }.map(String.init)
            switch (words.first, words.last, words.count) {
            case (nil, _, _): continue
            case (let interface?, "expensive", 2): expensive.insert(interface)
            case (let interface?, "constrained", 2): constrained.insert(interface)
            default:
                throw .wrongInput(
                    "“\(path)”, line \(number + 1): write an interface and “expensive” or “constrained”, as in “wlan0 expensive”"
                )
            }
        }
    }

    /// The interfaces, for the log; `nil` without any.
    var line: String? {
        let lists = [("expensive", expensive), ("constrained", constrained)].filter { !$0.1.isEmpty }
        guard !lists.isEmpty else { return nil }
        return lists.map { "\($0): \($1.sorted().joined(separator: ", "))" }.joined(separator: "; ")
    }
}
