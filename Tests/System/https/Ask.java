import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** Fetches a URL, as often as is asked for, and prints the bytes of the body, the version, and why there are no more. */
public class Ask {
    public static void main(String[] arguments) {
        var time = Duration.ofSeconds(3);
        var request = HttpRequest.newBuilder(URI.create(arguments[0])).timeout(time).build();
        var client = HttpClient.newBuilder().connectTimeout(time).build();
        for (int left = Integer.parseInt(arguments[1]); left > 0; left--) {
            var bytes = new AtomicLong();
            var end = "|";
            try {
                var body = HttpResponse.BodyHandlers.ofByteArrayConsumer(part -> bytes.addAndGet(part.map(b -> b.length).orElse(0)));
                end = client.send(request, body).version() + "|";
            } catch (Exception error) {
                for (Throwable cause = error; cause != null; cause = cause.getCause()) end += " / " + cause;
            }
            System.out.println(bytes + "|" + end);
        }
        System.exit(0);
    }
}
