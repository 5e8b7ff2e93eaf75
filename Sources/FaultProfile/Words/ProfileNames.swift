import Units

/// Answers a name that no shipped profile has.
package enum ProfileNames {
    /// At most this many names are suggested: 3.
    static let suggestionLimit = 3

    /// Why the profile `name` can't be had, with the nearest of the `known` names: those that are spelled alike, or else
    /// those that contain it.
    package static func unknown(_ name: String, among known: [String]) -> ResolutionError {
        let near = Spelling.nearest(to: name, among: known)
        let plain = ForeignWords.plain(name)
        // A short one is a word of the name.
        let containing = known.filter { other in
            plain.count < 3
                ? other.split(separator: "-").contains { $0 == plain } : ForeignWords.plain(other).contains(plain)
        }
        let names = (near.isEmpty ? containing : near).prefix(suggestionLimit).map(\.quoted)
        var remedy = "squall profiles lists them; a path has a slash or ends in .json"
        if let last = names.last {
            let others = names.dropLast().joined(separator: ", ")
            remedy = "did you mean \(others)\(others.isEmpty ? "" : " or ")\(last)?"
        }
        return ResolutionError(what: "there is no profile \(name.quoted)", remedy: remedy)
    }
}
