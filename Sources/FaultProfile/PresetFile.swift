/// A file of presets: profiles of one source, each found by its name.
public struct PresetFile: Hashable, Sendable {
    /// The source of the presets, as a heading. Empty where the file has none.
    public let title: String
    /// The names of the presets, in the order of the file.
    public let names: [String]

    /// Reads the title and the names; `nil` where `source` is no file of presets. Reports no problems:
    /// `ProfileReader.presets` does.
    public init?(_ source: ProfileSource) {
        var problems = ProblemList()
        let file = problems.addFile(source.file)
        guard let node = JSONReader.read(source.bytes, file: file, problems: &problems) else { return nil }
        self.init(node)
    }

    /// The file of presets that begins with `node`; `nil` where it is none.
    init?(_ node: JSONNode) {
        guard let presets = node.members.first(where: { $0.key == "presets" })?.node,
            !node.members.contains(where: { $0.key == "name" })
        else { return nil }
        title = if case .text(let title)? = node["title"]?.value { title } else { "" }
        names = presets.members.map(\.key)
    }
}

extension ProfileReader {
    /// The profiles of a file of presets, in its order.
    ///
    /// Throws everything that is wrong with any of them, each with its place.
    public static func presets(
        of source: ProfileSource,
        resolving resolve: @escaping Resolver
    ) throws(ProfileProblems) -> [Profile] {
        var profiles: [Profile] = []
        var problems: [Problem] = []
        var known: Set<Problem> = []
        var omitted = 0
        func add(_ error: ProfileProblems) {
            problems += error.problems.filter { known.insert($0).inserted }
            omitted += error.omitted
        }
        // Read once, not for each preset.
        var syntax = ProblemList()
        let root = root(of: source, file: syntax.addFile(source.file), &syntax)
        if let found = syntax.result() { add(found) }
        let names = root.flatMap { PresetFile($0)?.names.prefix(ProfileLimits.presets) } ?? []
        // Each preset repeats the problems of the file, so one with many is enough.
        for name in names.isEmpty ? [""] : names where root != nil && problems.count < ProfileProblems.limit {
            var source = source
            source.preset = name
            do throws(ProfileProblems) {
                profiles.append(try profile(from: source, root: root, resolving: resolve))
            } catch {
                add(error)
            }
        }
        guard problems.isEmpty else {
            let listed = problems.prefix(ProfileProblems.limit)
            throw ProfileProblems(problems: Array(listed), omitted: omitted + problems.count - listed.count)
        }
        return profiles
    }
}
