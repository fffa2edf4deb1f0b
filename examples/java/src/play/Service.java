package play;

import com.google.gson.Gson;
import eminence.v1.Referee.DealRequest;
import eminence.v1.Referee.DealResponse;
import eminence.v1.Referee.GetRecordRequest;
import eminence.v1.Referee.GetRecordResponse;
import eminence.v1.Referee.GetResultRequest;
import eminence.v1.Referee.GetResultResponse;
import eminence.v1.Referee.GetViewsRequest;
import eminence.v1.Referee.GetViewsResponse;
import eminence.v1.Referee.PlayRequest;
import eminence.v1.Referee.PlayResponse;
import eminence.v1.RefereeServiceGrpc;
import eminence.v1.Solver.AnalyzeRequest;
import eminence.v1.Solver.AnalyzeResponse;
import eminence.v1.Solver.SuggestRequest;
import eminence.v1.Solver.SuggestResponse;
import eminence.v1.SolverServiceGrpc;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** The service as a program meets it: a deadline on each call, retries, and a stream that stops when it is left. */
final class Service implements AutoCloseable {
  /** For calls that the server answers at once. */
  private static final long PROMPT_SECONDS = 10;

  /** What a call may take beyond the time that its budget grants: the way there and back, and retries. */
  private static final long MARGIN_SECONDS = 10;

  // gRPC itself tries again: when the server says so (grpc-retry-pushback-ms), or after a growing pause. When too many
  // calls fail it gives up trying, so that a server in trouble is not made busier.
  private static final String SERVICE_CONFIG =
      """
      {
        "methodConfig": [{
          "name": [{"service": "eminence.v1.SolverService"}, {"service": "eminence.v1.RefereeService"}],
          "retryPolicy": {
            "maxAttempts": 5,
            "initialBackoff": "0.1s",
            "maxBackoff": "2s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]
          }
        }],
        "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}
      }
      """;

  private final ManagedChannel channel;
  private final SolverServiceGrpc.SolverServiceBlockingStub solver;
  private final RefereeServiceGrpc.RefereeServiceBlockingStub referee;

  @SuppressWarnings("unchecked")
  Service(String address, String token) {
    var builder =
        ManagedChannelBuilder.forTarget(address)
            .usePlaintext() // on the same machine; elsewhere without this line
            .defaultServiceConfig(new Gson().fromJson(SERVICE_CONFIG, Map.class))
            .enableRetry();
    if (!token.isEmpty()) {
      var metadata = new Metadata();
      metadata.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
      builder.intercept(MetadataUtils.newAttachHeadersInterceptor(metadata));
    }
    channel = builder.build();
    solver = SolverServiceGrpc.newBlockingStub(channel);
    referee = RefereeServiceGrpc.newBlockingStub(channel);
  }

  SuggestResponse suggest(SuggestRequest request) {
    var seconds = request.getBudget().getTime().getSeconds() + MARGIN_SECONDS;
    return solver.withDeadlineAfter(seconds, TimeUnit.SECONDS).suggest(request);
  }

  /** The answer growing, for as long as `isWanted` says so; then the search is stopped. */
  void analyze(AnalyzeRequest request, Predicate<AnalyzeResponse> isWanted) {
    var seconds = request.getBudget().getTime().getSeconds() + MARGIN_SECONDS;
    // A call belongs to the context that it was made in, and is cancelled with it.
    try (var context = Context.current().withCancellation()) {
      context.run(
          () -> {
            Iterator<AnalyzeResponse> answers = solver.withDeadlineAfter(seconds, TimeUnit.SECONDS).analyze(request);
            while (answers.hasNext() && isWanted.test(answers.next())) {}
          });
    }
  }

  DealResponse deal(DealRequest request) {
    return prompt().deal(request);
  }

  PlayResponse play(PlayRequest request) {
    return prompt().play(request);
  }

  GetViewsResponse views(GetViewsRequest request) {
    return prompt().getViews(request);
  }

  GetResultResponse result(GetResultRequest request) {
    return prompt().getResult(request);
  }

  GetRecordResponse record(GetRecordRequest request) {
    return prompt().getRecord(request);
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }

  private RefereeServiceGrpc.RefereeServiceBlockingStub prompt() {
    return referee.withDeadlineAfter(PROMPT_SECONDS, TimeUnit.SECONDS);
  }
}
