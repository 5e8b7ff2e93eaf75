import Testing

@testable import SquallTransfer

@Suite struct ResumptionTokenTests {
    @Test func `a token has all that its request says of the transfer`() throws {
        var request = TransferRequest("http://host/file")
        (request.storesCoded, request.requiresProof) = (true, true)
        (request.allowsExpensive, request.allowsConstrained) = (false, false)
        let read = try ResumptionToken(ResumptionToken(downloading: request, to: "/file").text).request
        #expect(read.storesCoded && read.requiresProof && !read.allowsExpensive && !read.allowsConstrained)
        let other = ResumptionToken(downloading: TransferRequest("http://host/file"), to: "/file").request
        #expect(!other.storesCoded && other.allowsExpensive && other.allowsConstrained)
    }
}
