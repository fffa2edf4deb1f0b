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

/** Client of the service: a deadline on each call, retries, and a stream that can be cancelled. */
final class Service implements AutoCloseable {
  /** Timeout of calls without a search. */
  private static final long PROMPT_SECONDS = 10;

  /** Time of a call beyond its budget: network and retries. */
  private static final long MARGIN_SECONDS = 10;

  // gRPC retries after the pause that the server names (grpc-retry-pushback-ms), else with exponential backoff. It stops
  // retrying while too many calls fail, which would add load to a server in trouble.
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
            .usePlaintext() // for a server on this machine; remove for others
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

  /** Pass intermediate answers to `goesOn` until it returns false; then cancel the search. */
  void analyze(AnalyzeRequest request, Predicate<AnalyzeResponse> goesOn) {
    var seconds = request.getBudget().getTime().getSeconds() + MARGIN_SECONDS;
    // gRPC cancels a call with the context in which it was made.
    try (var context = Context.current().withCancellation()) {
      context.run(
          () -> {
            Iterator<AnalyzeResponse> answers = solver.withDeadlineAfter(seconds, TimeUnit.SECONDS).analyze(request);
            while (answers.hasNext() && goesOn.test(answers.next())) {}
          });
    }
  }

  DealResponse deal(DealRequest request) {
    return refereeWithDeadline().deal(request);
  }

  PlayResponse play(PlayRequest request) {
    return refereeWithDeadline().play(request);
  }

  GetViewsResponse views(GetViewsRequest request) {
    return refereeWithDeadline().getViews(request);
  }

  GetResultResponse result(GetResultRequest request) {
    return refereeWithDeadline().getResult(request);
  }

  GetRecordResponse record(GetRecordRequest request) {
    return refereeWithDeadline().getRecord(request);
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }

  private RefereeServiceGrpc.RefereeServiceBlockingStub refereeWithDeadline() {
    return referee.withDeadlineAfter(PROMPT_SECONDS, TimeUnit.SECONDS);
  }
}
