import Foundation
import Testing

@testable import ProfileFiles

struct JSONSyntaxTests {
    @Test(arguments: [
        ("{}", true), (" {\"a\":[1,-2.5e3,true,null,\"x\"]}\n", true), ("[1]", true),
        ("null", true), ("12", true), ("\"a\"", true), ("", false), ("{", false),
        ("{\"a\":1}x", false), ("200 ms", false), ("127.0.0.1", false),
        ("1-2", false), ("{\"a\":1.2.3}", false), ("{'a':1}", false),
    ])
    func `JSON is told from other text`(text: String, isValid: Bool) {
        #expect(JSONSyntax.isValid(text.utf8) == isValid)
        // The parser of Foundation agrees.
        let value = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        #expect((value != nil) == isValid)
    }
}
