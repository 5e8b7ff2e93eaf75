import Units

/// Reads a trace of the form that mahimahi made common: a whole number on each line, the millisecond at
/// which up to 1,500 B may pass; in order of time, no line empty, the last above zero.
enum TraceReader {
    /// The milliseconds of a trace; `nil` when something is wrong with it, which is reported by line.
    static func opportunities(_ bytes: [UInt8], file: Int, _ problems: inout ProblemList) -> [UInt32]? {
        func place(_ line: Int) -> SourcePlace { SourcePlace(file: file, place: Place(line: line, column: 1)) }
        guard bytes.count <= ProfileLimits.traceBytes else {
            problems.add(
                "the trace has more than \(ByteCount(Int64(ProfileLimits.traceBytes)).text)",
                remedy: "shorten it: it starts over at its end",
                at: place(1)
            )
            return nil
        }
        // Everything after the limit counts as one more line.
        var lines = bytes.split(
            separator: UInt8(ascii: "\n"),
            maxSplits: ProfileLimits.traceLines + 1,
            omittingEmptySubsequences: false
        )
        if lines.last?.isEmpty == true { lines.removeLast() }
        guard lines.count <= ProfileLimits.traceLines else {
            problems.add(
                "the trace has more than \(ProfileLimits.traceLines) lines",
                remedy: "shorten it: it starts over at its end",
                at: place(ProfileLimits.traceLines + 1)
            )
            return nil
        }
        var milliseconds: [UInt32] = []
        milliseconds.reserveCapacity(lines.count)
        for (index, line) in lines.enumerated() {
            let digits = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard let next = number(digits) else {
                report(digits, at: place(index + 1), &problems)
                continue
            }
            if let last = milliseconds.last, next < last {
                problems.add(
                    "the time is earlier than that of the line before",
                    remedy: "write the lines in order of time",
                    at: place(index + 1)
                )
            }
            milliseconds.append(next)
        }
        if lines.isEmpty || (milliseconds.count == lines.count && milliseconds.last == 0) {
            problems.add(
                lines.isEmpty ? "the trace is empty" : "the trace has no length: its last line is 0",
                remedy: "write a line for each opportunity, the last being the length of the trace in milliseconds",
                at: place(max(1, lines.count))
            )
            return nil
        }
        return milliseconds.count == lines.count ? milliseconds : nil
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt32? {
        guard !digits.isEmpty, digits.count <= 10 else { return nil }
        var value: UInt64 = 0
        for digit in digits {
            guard (48...57).contains(digit) else { return nil }
            value = value * 10 + UInt64(digit - 48)
        }
        return UInt32(exactly: value)
    }

    /// Reports a line without showing any of it: the file may be no trace at all.
    private static func report(_ line: ArraySlice<UInt8>, at place: SourcePlace, _ problems: inout ProblemList) {
        guard !line.isEmpty else {
            problems.add("the line is empty", remedy: "delete it", at: place)
            return
        }
        problems.add(
            "the line is not a time of a trace",
            remedy: "write a whole number of milliseconds, such as “12”, and nothing else",
            at: place
        )
    }
}

extension ProfileDecoder {
    /// The opportunities of the trace file `path`, which starts from the folder of the file that says it;
    /// each file is read once.
    mutating func trace(_ path: String, at place: SourcePlace) -> [UInt32]? {
        let full = ProfileReference.path(ofFile: path, in: file)
        if let known = traces[full] { return known }
        guard traces.count < ProfileLimits.traces else {
            let limit = ProfileLimits.traces
            report("there are more than \(limit) trace files", remedy: "use one of them again", at: place)
            return nil
        }
        let opportunities: [UInt32]?
        switch resolve(.trace(full)) {
        case .failure(let error):
            report(error.what, remedy: error.remedy, at: place, code: .notFound)
            opportunities = nil
        case .success(let source):
            let number = problems.addFile(source.file)
            opportunities = TraceReader.opportunities(source.bytes, file: number, &problems)
        }
        traces[full] = .some(opportunities)
        return opportunities
    }
}
