import Testing

@testable import FaultProfile

@Suite struct SchemaTests {
    private let schema: SchemaValidator

    init() throws {
        schema = try SchemaValidator(try Repository.bytes(of: "Profiles/profile.schema.json"))
    }

    /// Every object of a profile: the name of its definition, and the table that the reader goes by.
    private static let objects: [(definition: String, shape: ObjectShape)] =
        [
            ("presetFile", .presetFile), ("preset", .preset),
            ("profile", .profile), ("proxy", .proxy), ("embeddedProfile", .embeddedProfile), ("phase", .phase),
            ("condition", .condition),
            ("connectionStep", .connectionStep), ("connectionsPerTarget", .connectionsPerTarget),
            ("spikes", Latency.Spikes.table.shape),
            ("step", Bandwidth.Step.table.shape),
            ("wave", Bandwidth.Wave.table.shape), ("duty", DutyCycle.table.shape),
            ("httpCondition", HTTPCondition.table.shape), ("answer", HTTPAnswer.table.shape),
            ("hexadecimal", .hexadecimal),
        ] + FaultKind.Name.allCases.map { ($0.rawValue, $0.shape) }

    @Test func `the schema has the keys that the reader has, required ones and others`() throws {
        for (name, shape) in SchemaTests.objects {
            let definition = try #require(schema.definition(name), "no definition of \(name)")
            guard case .object(let properties)? = definition["properties"]?.value else {
                Issue.record("\(name) has no properties")
                continue
            }
            #expect(properties.map(\.key) == shape.keys.map(\.name), "keys of \(name)")
            let required = (definition["required"]?.elements ?? []).compactMap(\.text)
            #expect(required == shape.keys.filter(\.isRequired).map(\.name), "required keys of \(name)")
            for key in shape.keys {
                let property = try #require(definition["properties"]?[key.name])
                expect(property, describes: key, of: name)
            }
        }
    }

    private func expect(_ property: JSONNode, describes key: KeyShape, of object: String) {
        if let name = key.form.name {
            #expect(property["$ref"]?.text == "#/$defs/\(name)", "form of \(key.name) of \(object)")
        } else if key.name == "kind" {
            #expect(property["const"]?.text == object)
            #expect(FaultKind.Name.allCases.map(\.rawValue).contains(object))
        } else {
            let words = (property["enum"]?.elements ?? []).compactMap(\.text)
            #expect(!words.isEmpty, "values of \(key.name) of \(object)")
        }
    }

    private func definition(_ reference: String) -> JSONNode? {
        schema.definition(String(reference.dropFirst("#/$defs/".count)))
    }

    @Test func `every kind is among the schema's faults`() {
        let references = (schema.definition("fault")?["oneOf"]?.elements ?? []).compactMap { $0["$ref"]?.text }
        #expect(references == FaultKind.Name.allCases.map { "#/$defs/\($0.rawValue)" })
    }

    @Test func `every key has a description, common ones in their definition`() throws {
        for (name, shape) in SchemaTests.objects {
            for key in shape.keys where !["kind", "name", "stream", "when"].contains(key.name) {
                let property = try #require(schema.definition(name)?["properties"]?[key.name])
                let description = property["description"]?.text ?? ""
                #expect(description.last == ".", "\(key.name) of \(name)")
            }
        }
    }

    @Test(arguments: Repository.shippedProfiles)
    func `the schema takes every shipped profile`(name: String) throws {
        #expect(try schema.accepts(try parsed(try Repository.bytes(of: "Profiles/\(name).json"))))
    }

    @Test(arguments: Repository.presetFiles)
    func `the schema takes every file of presets, and says which schema it has`(name: String) throws {
        let file = try parsed(try Repository.presetFile(name).bytes)
        #expect(try schema.accepts(file, as: "presetFile"))
        #expect(file["$schema"]?.text == "../presets.schema.json")
        let presets = try parsed(try Repository.bytes(of: "Profiles/presets.schema.json"))
        #expect(presets["$ref"]?.text == "profile.schema.json#/$defs/presetFile")
    }

    @Test(arguments: Corpus.presetFiles)
    func `what the reader refuses of a file of presets, the schema refuses`(text: String) throws {
        #expect(presetProblems(text) != [])
        #expect(try !schema.accepts(try parsed(Array(text.utf8)), as: "presetFile"))
    }

    @Test(arguments: Corpus.valid)
    func `what the reader takes, the schema takes`(text: String) throws {
        #expect(problems(text) == [])
        #expect(try schema.accepts(try parsed(Array(text.utf8))))
    }

    @Test(arguments: Corpus.invalid)
    func `what the schema refuses, the reader refuses`(text: String) throws {
        #expect(problems(text) != [])
        #expect(try !schema.accepts(try parsed(Array(text.utf8))))
    }

    @Test(arguments: Corpus.beyondSchema)
    func `what a schema can't express is left to the reader`(text: String) throws {
        #expect(problems(text) != [])
        #expect(try schema.accepts(try parsed(Array(text.utf8))))
    }
}
