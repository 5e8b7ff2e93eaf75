internal import FaultProfile
internal import Units

/// The JSON text of a profile made in Swift. Each fault begins on a line of its own, so that problems name the fault and
/// not a place in a text that the caller hasn't written.
struct ProfileText: Sendable {
    private struct Part {
        let name: String
        let firstLine: Int
        /// The text of `NetworkFault.json(_:)`, in which a line and a column say more.
        let given: String?
    }

    private(set) var text = ""
    private var parts: [Part] = []
    private var lines = 0

    /// The text of faults that are always on.
    init(_ faults: [NetworkFault]) {
        add(#"{"name":"faults","faults":["#, of: "faults")
        add(faults)
        add("]}", of: "faults")
    }

    /// The text of phases, with faults that are always on.
    init(_ phases: [NetworkPhase], always faults: [NetworkFault], repeats: Bool) {
        add(#"{"name":"phases","faults":["#, of: "phases")
        add(faults)
        add(#"],"phases":["#, of: "phases")
        for (number, phase) in zip(1..., phases) {
            let name = "phase \(phase.name.quoted)"
            add("{\(phase.members),\"faults\":[", of: name)
            add(phase.faults, of: "\(name), ")
            add(number < phases.count ? "]}," : "]}", of: name)
        }
        add("],\"repeat\":\(repeats)}", of: "phases")
    }

    private mutating func add(_ faults: [NetworkFault], of phase: String = "") {
        for (number, fault) in zip(1..., faults) {
            let name = "\(phase)fault \(number)" + (fault.kind.map { ", \($0)" } ?? "")
            add(fault.json.compact + (number < faults.count ? "," : ""), of: name, given: fault.text)
        }
    }

    private mutating func add(_ piece: String, of name: String, given: String? = nil) {
        parts.append(Part(name: name, firstLine: lines + 1, given: given))
        text += "\(piece)\n"
        lines += piece.utf8.count { $0 == UInt8(ascii: "\n") } + 1
    }

    /// Throws for a fault of JSON whose text isn't one value.
    func check() throws(ProfileProblems) {
        for part in parts {
            guard let given = part.given else { continue }
            do throws(Problem) {
                _ = try JSONReader.firstValue(of: Array(given.utf8), name: part.name)
            } catch {
                throw ProfileProblems(problems: [error])
            }
            do throws(Problem) {
                _ = try JSONReader.firstValue(of: Array(given.utf8), name: part.name, isOnly: true)
            } catch {
                let (what, remedy) = ("more follows the fault", "give each fault a json(_:) of its own")
                throw ProfileProblems(problems: [
                    Problem(file: part.name, line: error.line, column: error.column, what: what, remedy: remedy)
                ])
            }
        }
    }

    /// A problem of this text, with its fault as its place.
    func placed(_ problem: Problem) -> ProfileProblem {
        guard let part = parts.last(where: { $0.firstLine <= problem.line }) else { return ProfileProblem(problem) }
        let line = problem.line - part.firstLine + 1
        let place = part.given == nil ? part.name : "\(part.name):\(line):\(problem.column)"
        return ProfileProblem(problem, file: part.name, line: line, "\(place): \(problem.what) (\(problem.remedy))")
    }
}
