import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// A document as Foundation's parser reads it.
package final class ParsedXML: NSObject, XMLParserDelegate {
    package struct Element {
        package var name: String
        package var attributes: [String: String]
        package var text = ""
    }

    /// The elements in the order of their begins.
    package private(set) var elements: [Element] = []
    private var open: [Int] = []
    /// Why it isn't well-formed; `nil` if it is.
    package private(set) var problem: String?

    package init(_ text: String) {
        super.init()
        let parser = XMLParser(data: Data(text.utf8))
        parser.delegate = self
        if !parser.parse() {
            problem = "line \(parser.lineNumber): \(parser.parserError.map { "\($0)" } ?? "unknown")"
        }
    }

    /// The elements of a name.
    package subscript(_ name: String) -> [Element] { elements.filter { $0.name == name } }

    package func parser(
        _: XMLParser,
        didStartElement name: String,
        namespaceURI _: String?,
        qualifiedName _: String?,
        attributes: [String: String]
    ) {
        open.append(elements.count)
        elements.append(Element(name: name, attributes: attributes))
    }

    package func parser(_: XMLParser, foundCharacters text: String) {
        if let last = open.last { elements[last].text += text }
    }

    package func parser(_: XMLParser, didEndElement _: String, namespaceURI _: String?, qualifiedName _: String?) {
        open.removeLast()
    }
}
