import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// A document as Foundation's parser reads it.
final class ParsedXML: NSObject, XMLParserDelegate {
    struct Element {
        var name: String
        var attributes: [String: String]
        var text = ""
    }

    /// The elements in the order of their begins.
    private(set) var elements: [Element] = []
    private var open: [Int] = []
    /// Why it isn't well-formed; `nil` if it is.
    private(set) var problem: String?

    init(_ text: String) {
        super.init()
        let parser = XMLParser(data: Data(text.utf8))
        parser.delegate = self
        if !parser.parse() {
            problem = "line \(parser.lineNumber): \(parser.parserError.map { "\($0)" } ?? "unknown")"
        }
    }

    /// The elements of a name.
    subscript(_ name: String) -> [Element] { elements.filter { $0.name == name } }

    func parser(
        _: XMLParser,
        didStartElement name: String,
        namespaceURI _: String?,
        qualifiedName _: String?,
        attributes: [String: String]
    ) {
        open.append(elements.count)
        elements.append(Element(name: name, attributes: attributes))
    }

    func parser(_: XMLParser, foundCharacters text: String) {
        if let last = open.last { elements[last].text += text }
    }

    func parser(_: XMLParser, didEndElement _: String, namespaceURI _: String?, qualifiedName _: String?) {
        open.removeLast()
    }
}
