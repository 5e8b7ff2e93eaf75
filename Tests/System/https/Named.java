import java.net.Socket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/** Shakes hands with HOST:PORT as if it were NAME, and verifies that. */
public class Named {
    public static void main(String[] arguments) throws Exception {
        var address = arguments[0].split(":");
        var below = new Socket(address[0], Integer.parseInt(address[1]));
        var factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
        var socket = (SSLSocket) factory.createSocket(below, arguments[1], 443, true);
        var parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        socket.startHandshake();
    }
}
