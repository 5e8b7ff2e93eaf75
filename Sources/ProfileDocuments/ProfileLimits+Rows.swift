import FaultProfile
import Units

extension ProfileLimits {
    /// A row of the table of limits: what is limited, to what, and by which of the names above.
    struct Row: Sendable {
        let text: String
        let values: [String]
        let names: [String]

        fileprivate init(_ text: String, _ limits: (name: String, value: String)...) {
            self.text = text
            names = limits.map(\.name)
            values = limits.map(\.value)
        }
    }

    /// Every limit, for the page that lists them.
    static let rows =
        [
            Row("bytes of a file", ("ProfileLimits.fileBytes", bytes(fileBytes))),
            Row(
                "bytes of a text that a profile is embedded in",
                ("ProfileLimits.embeddingBytes", bytes(embeddingBytes))
            ),
            Row("objects and lists in each other", ("JSONReader.deepestNesting", count(JSONReader.deepestNesting))),
            Row("faults, with phases and bases", ("ProfileLimits.faults", count(faults))),
            Row("phases", ("ProfileLimits.phases", count(phases))),
            Row("proxies", ("ProfileLimits.proxies", count(proxies))),
            Row("offsets of a cut", ("ProfileLimits.cutOffsets", count(cutOffsets))),
            Row("values in the list of a trigger", ("ProfileLimits.triggerValues", count(triggerValues))),
            Row(
                "characters of bytes in digits",
                ("ProfileLimits.hexadecimalLength", count(ProfileLimits.hexadecimalLength))
            ),
            Row("bytes of a pattern", ("ProfileLimits.patternBytes", count(patternBytes))),
            Row(
                "fields of `when.http`, or of an answer; bytes of its body",
                ("ProfileLimits.httpFields", count(httpFields)),
                ("answerBytes", bytes(answerBytes))
            ),
            Row(
                "bytes of the name of a field; of its value",
                ("ProfileLimits.nameLength", count(nameLength)),
                ("textLength", count(textLength))
            ),
            Row("steps of a bandwidth", ("ProfileLimits.rateSteps", count(rateSteps))),
            Row(
                "shortest phase, `on` and `off` of a duty cycle, wave, `repeat` of steps, `every` of spikes",
                ("ProfileLimits.shortestPeriod", shortestPeriod.text)
            ),
            Row("quantiles of a latency", ("ProfileLimits.quantiles", count(quantiles))),
            Row(
                "trace files; bytes of one; its lines",
                ("ProfileLimits.traces", count(traces)),
                ("traceBytes", bytes(traceBytes)),
                ("traceLines", count(traceLines))
            ),
            Row("bytes of a file with a certificate", ("ProfileLimits.certificateBytes", bytes(certificateBytes))),
            Row("presets of a file", ("ProfileLimits.presets", count(presets))),
            Row("bases, one through the other", ("ProfileLimits.extendsDepth", count(extendsDepth))),
            Row(
                "characters of a name; of that of a fault",
                ("ProfileLimits.nameLength", count(nameLength)),
                ("faultNameLength", count(faultNameLength))
            ),
            Row(
                "characters of the path of a trace or a certificate, with the folder of the profile",
                ("ProfileLimits.pathLength", count(pathLength))
            ),
            Row("characters of a summary, a source or of `extends`", ("ProfileLimits.textLength", count(textLength))),
            Row("characters of a value with its unit", ("ProfileLimits.valueLength", count(valueLength))),
            Row("mean length of a burst of losses", ("ProfileLimits.burstLength", count(burstLength))),
            Row("round trip (`rtt`)", ("ProfileLimits.roundTrip", roundTrip.text)),
            Row("number of a connection in `when`", ("ProfileLimits.connectionNumber", count(Int(connectionNumber)))),
            Row("characters of a text quoted in a message", ("String.quotedLimit", count(String.quotedLimit))),
            Row("problems listed; the rest are counted", ("ProfileProblems.limit", count(ProfileProblems.limit))),
        ]
        + FaultKind.Name.allCases.flatMap(\.limits).map { Row($0.text, ($0.name, $0.value)) }

    private static func bytes(_ limit: Int) -> String { ByteCount(Int64(limit)).text }

    /// A number with a comma before every third digit.
    private static func count(_ limit: Int) -> String {
        var text = ""
        for (index, digit) in String(limit).reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3) { text = "," + text }
            text = String(digit) + text
        }
        return text
    }
}
