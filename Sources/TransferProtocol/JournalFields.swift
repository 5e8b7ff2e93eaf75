import HTTPSemantics
import Units

/// The fields of a source. Unknown names are skipped.
enum JournalFields {
    private enum Name: UInt8 {
        case url = 1
        case finalURL = 2
        case entityTag = 3
        case lastModified = 4
        case date = 5
        case total = 6
        case contentType = 7
        case digest = 9
        case requiresDigest = 10
        case evidence = 11
        case contentCoding = 12
    }

    static func encode(_ source: JournalSource) -> [UInt8] {
        let representation = source.representation
        var fields: [(Name, [UInt8])] = [(.url, Array(source.url.utf8)), (.finalURL, Array(source.finalURL.utf8))]
        func add(_ name: Name, _ text: String?) {
            if let text { fields.append((name, Array(text.utf8))) }
        }
        add(.entityTag, representation.entityTag?.headerValue)
        add(.lastModified, representation.lastModified)
        add(.date, representation.date?.headerValue)
        add(.total, representation.total.map { String($0) })
        add(.contentType, representation.contentType)
        add(.contentCoding, representation.contentCoding)
        if let digest = representation.digest { fields.append((.digest, digest.sha256)) }
        if representation.requiresDigest { fields.append((.requiresDigest, [])) }
        fields.append((.evidence, [representation.evidence.encoded]))
        while fields.reduce(0, { $0 + $1.1.count + 5 }) > JournalRecord.maximumPayloadSize {
            guard let longest = fields.indices.max(by: { fields[$0].1.count < fields[$1].1.count }) else { break }
            fields.remove(at: longest)
        }
        return FieldList.encode(fields.map { ($0.0.rawValue, $0.1) })
    }

    /// Returns `nil` when the fields are truncated, a value can't be decoded, or there is no URL or evidence.
    static func decode(_ payload: ArraySlice<UInt8>) -> JournalSource? {
        guard let fields = FieldList.decode(payload) else { return nil }
        var url: String?
        var finalURL: String?
        var representation = DownloadRepresentation()
        var evidence: DownloadEvidence?
        for (name, value) in fields {
            let text = String(decoding: value, as: UTF8.self)
            switch Name(rawValue: name) {
            case .url: url = text
            case .finalURL: finalURL = text
            case .entityTag:
                guard let tag = EntityTag(text) else { return nil }
                representation.entityTag = tag
            case .lastModified: representation.lastModified = text
            case .date: representation.date = HTTPDate(text)
            case .total:
                guard let total = Int64(text), total >= 0 else { return nil }
                representation.total = total
            case .contentType: representation.contentType = text
            case .contentCoding: representation.contentCoding = text
            case .digest: representation.digest = ReprDigest(sha256: Array(value))
            case .requiresDigest: representation.requiresDigest = true
            case .evidence:
                guard value.count == 1 else { return nil }
                evidence = value.first.flatMap { DownloadEvidence(encoded: $0) }
            case nil: continue
            }
        }
        guard let url, let evidence else { return nil }
        representation.evidence = evidence
        return JournalSource(url: url, finalURL: finalURL ?? url, representation: representation)
    }
}

/// Named values in a record: a name byte, a four-byte value length, the value.
package enum FieldList {
    /// The bytes of fields.
    package static func encode(_ fields: [(name: UInt8, value: [UInt8])]) -> [UInt8] {
        fields.reduce(into: []) { payload, field in
            payload.append(field.name)
            payload.appendLittleEndian(UInt32(field.value.count))
            payload += field.value
        }
    }

    /// The fields in a payload; `nil` when one is truncated.
    package static func decode(_ payload: ArraySlice<UInt8>) -> [(name: UInt8, value: ArraySlice<UInt8>)]? {
        var rest = payload
        var fields: [(UInt8, ArraySlice<UInt8>)] = []
        while let name = rest.popFirst() {
            guard rest.count >= 4 else { return nil }
            let count = Int(rest.prefix(4).littleEndianNumber)
            rest = rest.dropFirst(4)
            guard rest.count >= count else { return nil }
            fields.append((name, rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return fields
    }
}
