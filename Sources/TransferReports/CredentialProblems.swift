import TransferProtocol
import Units

extension RequestFieldProblem: CustomStringConvertible {
    /// The problem and its remedy as a clause.
    public var description: String {
        switch self {
        case .noColon: "there is no colon: write 'Name: value'"
        case .invalidName: "the name in front of the colon is none of a field: write 'Name: value'"
        case .invalidValue: "the value has a control character: leave it out"
        case .reserved("host"): "the field host is the URL's: name the host there"
        case .reserved("proxy-authorization"):
            "the field proxy-authorization is the proxy's: put NAME:PASSWORD@ in front of its host"
        case .reserved("content-type"): "the field content-type has an option of its own: use --content-type"
        case .reserved(let name): "the client sets the field \(name) itself: leave it out"
        case .tooLong: "the value is longer than \(RequestField.maximumValueSize) bytes"
        }
    }
}

extension NetrcProblem.Kind: CustomStringConvertible {
    /// The problem and its remedy as a clause.
    public var description: String {
        switch self {
        case .tooLong: "the file is longer than \(ByteCount(Int64(Netrc.maximumSize)).text): is it a .netrc?"
        case .notText: "the file is no text in UTF-8: is it a .netrc?"
        case .openQuote: "a text in quotes doesn't end on its line: close it, or write \\\" for a quote in it"
        case .unknownWord:
            "there is a word that isn't machine, default, login, password, account or macdef: put a value with white space in "
                + "double quotes"
        case .noValue: "the value of the last word is missing: add it"
        case .noMachine: "a login or a password comes before the first machine: write “machine NAME” in front of it"
        case .credentials(let problem): "the login of this machine can't be sent: \(problem)"
        }
    }
}
