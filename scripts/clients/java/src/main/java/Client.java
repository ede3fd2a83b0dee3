import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.errors.OpenAIServiceException;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.images.ImageGenerateParams;
import com.openai.models.videos.Video;
import com.openai.models.videos.VideoCreateParams;
import com.openai.models.videos.VideoModel;
import com.openai.models.videos.VideoSeconds;
import com.openai.models.videos.VideoSize;

/**
 * Calls the gateway with OpenAI's official client for Java, which checks every answer. It prints one
 * line of JSON for each call.
 */
public final class Client {
  private interface Work {
    void run() throws Exception;
  }

  private static void row(String call, String refusal, Work work) {
    String outcome = "ok";
    try {
      work.run();
    } catch (OpenAIServiceException error) {
      outcome = error.statusCode() + " " + error.code().orElse("");
    } catch (Exception error) {
      outcome = error.toString();
    }
    String quoted = outcome.replaceAll("[\"\\\\\\p{Cntrl}]", " ");
    System.out.printf("{\"call\": \"%s\", \"outcome\": \"%s\", \"refusal\": \"%s\"}%n", call, quoted, refusal);
  }

  private static OpenAIClient connect(String key) {
    return OpenAIOkHttpClient.builder().baseUrl(System.getenv("GATE")).apiKey(key).responseValidation(true).build();
  }

  private static VideoCreateParams.Builder order(String model) {
    return VideoCreateParams.builder()
        .model(VideoModel.of(model))
        .prompt("a lighthouse [duration=0.3]")
        .seconds(VideoSeconds._4);
  }

  private static Video createAndPoll(OpenAIClient client, VideoCreateParams.Builder order) throws Exception {
    Video video = client.videos().create(order.build());
    while (video.status().equals(Video.Status.QUEUED) || video.status().equals(Video.Status.IN_PROGRESS)) {
      Thread.sleep(200);
      video = client.videos().retrieve(video.id());
    }
    if (!video.status().equals(Video.Status.COMPLETED)) throw new Exception("unexpected: " + video.status());
    return video;
  }

  public static void main(String[] args) {
    OpenAIClient client = connect(System.getenv("KEY"));
    ChatCompletionCreateParams.Builder chat = ChatCompletionCreateParams.builder().addUserMessage("how is the weather");
    row("models.list", "", () -> client.models().list().data().forEach(model -> model.validate()));
    row("chat", "", () -> client.chat().completions().create(chat.model("chat-x").build()).choices().get(0).message());
    row("images.generate", "", () -> {
      ImageGenerateParams params = ImageGenerateParams.builder().model("chat-x").prompt("a cat").build();
      client.images().generate(params).data().orElseThrow().get(0).b64Json().orElseThrow();
    });
    Video[] video = new Video[1];
    row("videos.createAndPoll", "", () -> video[0] = createAndPoll(client, order("demo-video")));
    row("videos, relayed", "", () -> createAndPoll(client, order("video-x").size(VideoSize._1280X720)).validate());
    row("videos.downloadContent", "", () -> {
      if (client.videos().downloadContent(video[0].id()).body().readAllBytes().length == 0) throw new Exception("nothing");
    });
    row("videos.list", "", () -> client.videos().list().data().get(0).validate());
    row("unknown model", "404 model_not_found", () -> client.chat().completions().create(chat.model("nobody").build()));
    row("wrong key", "401 api_key_invalid", () -> connect("sk-wrong").models().list());
    System.exit(0);
  }
}
