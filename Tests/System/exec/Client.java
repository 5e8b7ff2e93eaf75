import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/** Fetches /file.bin by one of Java's ways, and exits with 0 if all of its bytes came. */
class Client {
    public static void main(String[] words) throws Exception {
        int port = Integer.parseInt(words[1]);
        long size = Long.parseLong(words[2]);
        long found = switch (words[0]) {
            case "http" -> http(port);
            case "nio" -> channel(port);
            default -> socket(port);
        };
        System.exit(found >= size ? 0 : 1);
    }

    static final byte[] REQUEST = "GET /file.bin HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    static long http(int port) throws Exception {
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/file.bin")).version(HttpClient.Version.HTTP_1_1).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofByteArray()).body().length;
    }

    static long channel(int port) throws Exception {
        var selector = Selector.open();
        var channel = SocketChannel.open();
        channel.configureBlocking(false);
        channel.register(selector, SelectionKey.OP_CONNECT);
        channel.connect(new InetSocketAddress("127.0.0.1", port));
        while (!channel.finishConnect()) selector.select();
        channel.keyFor(selector).interestOps(SelectionKey.OP_READ);
        channel.write(ByteBuffer.wrap(REQUEST));
        var bytes = ByteBuffer.allocate(65536);
        long found = 0;
        for (int part = 0; part >= 0; found += Math.max(0, part)) {
            selector.select();
            selector.selectedKeys().clear();
            bytes.clear();
            part = channel.read(bytes);
        }
        return found;
    }

    static long socket(int port) throws Exception {
        try (var made = new Socket("127.0.0.1", port)) {
            made.getOutputStream().write(REQUEST);
            return made.getInputStream().readAllBytes().length;
        }
    }
}
