import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Fetches a URL, and prints its bytes or why there are none. */
public class Ask {
    public static void main(String[] arguments) {
        try {
            var time = Duration.ofSeconds(3);
            var request = HttpRequest.newBuilder(URI.create(arguments[0])).timeout(time).build();
            var client = HttpClient.newBuilder().connectTimeout(time).build();
            System.out.println(client.send(request, HttpResponse.BodyHandlers.ofByteArray()).body().length);
        } catch (Exception error) {
            System.out.println(error);
            for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) System.out.println(cause);
        }
        System.exit(0);
    }
}
