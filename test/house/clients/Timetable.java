import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Pattern;

/** What a timetable program does, with the HTTP client of the JDK as it is made: it offers HTTP/2 with each request. */
class Timetable {
  static final HttpClient http = HttpClient.newHttpClient();

  static String send(HttpRequest.Builder request) throws Exception {
    var answer = http.send(request.build(), BodyHandlers.ofString());
    System.err.println(answer.request().method() + " " + answer.uri().getPath() + " " + answer.statusCode());
    if (answer.statusCode() >= 300) throw new Exception(answer.statusCode() + " " + answer.body());
    return answer.body();
  }

  static String member(String json, String name) {
    var found = Pattern.compile("\"" + name + "\" *: *\"([^\"]*)\"").matcher(json);
    return found.find() ? found.group(1) : "";
  }

  public static void main(String[] arguments) throws Exception {
    var root = arguments[0];
    var api = root + "/" + arguments[1] + "/api/v2.0/jobs";
    send(HttpRequest.newBuilder(URI.create(root + "/healthz")));
    var form = "grant_type=apikey&scope=service_api&client_id=timetable-import&apikey=" + arguments[2];
    var token = member(
        send(HttpRequest.newBuilder(URI.create(root + "/connect/token"))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(BodyPublishers.ofString(form))),
        "access_token");
    var batchId = member(
        send(HttpRequest.newBuilder(URI.create(api + "/create"))
            .header("Authorization", "Bearer " + token)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(arguments[3]))),
        "BatchId");
    for (var state = ""; ; ) {
      var batch = send(HttpRequest.newBuilder(URI.create(api + "/batches/" + batchId + "?WaitSeconds=5"))
          .header("Authorization", "Bearer " + token));
      state = member(batch, "ImportStatus");
      if (state.equals("LessonsCreated") || state.equals("LessonsImportFailed")) {
        System.out.println(state);
        return;
      }
    }
  }
}
