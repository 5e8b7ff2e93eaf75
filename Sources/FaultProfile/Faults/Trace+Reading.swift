import Units

extension Trace {
    static let keys: [KeyShape] = [
        .required("file", .tracePath),
        .optional("queue", .size),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let queue = decoder.size(object, "queue") ?? Trace.defaultQueue
        if queue < Trace.opportunitySize {
            decoder.report(
                "a queue of \(queue.text) has no room for the 1500 B of an opportunity",
                remedy: "write “1500 B” or more",
                at: object["queue"]?.place ?? object.place
            )
        }
        guard let node = object["file"], let file = decoder.text(node, key: "file", limit: ProfileLimits.pathLength)
        else { return nil }
        guard !file.isEmpty else {
            decoder.report("“file” is empty", remedy: "write the path of a trace", at: node.place)
            return nil
        }
        guard let opportunities = decoder.trace(file, at: node.place) else { return nil }
        // With the folder of the profile, so that it is a path from the folder that the process runs in.
        let path = ProfileReference.path(ofFile: file, in: decoder.file)
        self.init(file: path, opportunities: opportunities, queue: queue)
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
            report(error.what, remedy: error.remedy, at: place)
            opportunities = nil
        case .success(let source):
            let number = problems.addFile(source.file)
            opportunities = TraceReader.opportunities(source.bytes, file: number, &problems)
        }
        traces[full] = .some(opportunities)
        return opportunities
    }
}
