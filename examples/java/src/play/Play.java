package play;

import static java.util.stream.Collectors.joining;

import com.google.protobuf.util.Durations;
import eminence.v1.RecordOuterClass.Record;
import eminence.v1.Referee.DealRequest;
import eminence.v1.Referee.GetRecordRequest;
import eminence.v1.Referee.GetResultRequest;
import eminence.v1.Referee.GetViewsRequest;
import eminence.v1.Referee.PlayRequest;
import eminence.v1.Referee.Standing;
import eminence.v1.SeatOuterClass.Seat;
import eminence.v1.Solver.AnalyzeRequest;
import eminence.v1.Solver.Budget;
import eminence.v1.Solver.SuggestRequest;
import eminence.v1.Solver.Suggestion;
import eminence.v1.ViewOuterClass.GameSpec;
import eminence.v1.ViewOuterClass.View;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Play a whole game: RefereeService deals and plays, SolverService suggests the moves of each seat from its view alone.
 *
 * <pre>build/play --seed 7 --players 3</pre>
 */
public final class Play {
  private static final List<String> FLAGS =
      List.of("--address", "--token", "--game", "--players", "--seed", "--iterations", "--record");

  /** Time limit of each move, beside that of --iterations; the first limit reached ends the search. */
  private static final long SECONDS = 5;

  /** Intermediate answers in a row with the same best move, after which the client cancels the stream. */
  private static final int STABLE_ANSWERS = 3;

  private final Service service;
  private final GameSpec game;
  private final Budget budget;
  private final Optional<Long> seed;

  private Play(Service service, Map<String, String> options) {
    this.service = service;
    game =
        GameSpec.newBuilder()
            .setGameId(options.getOrDefault("--game", "oriflamme"))
            .setPlayers(Integer.parseInt(options.getOrDefault("--players", "3")))
            .build();
    budget =
        Budget.newBuilder()
            .setTime(Durations.fromSeconds(SECONDS))
            .setIterations(Long.parseLong(options.getOrDefault("--iterations", "2000")))
            .build();
    seed = Optional.ofNullable(options.get("--seed")).map(Long::parseUnsignedLong);
  }

  public static void main(String[] arguments) throws IOException {
    var options = flags(arguments);
    var address = options.getOrDefault("--address", "127.0.0.1:50051");
    try (var service = new Service(address, options.getOrDefault("--token", ""))) {
      var record = new Play(service, options).game();
      if (options.containsKey("--record")) {
        var request = GetRecordRequest.newBuilder().setRecord(record).build();
        Files.writeString(Path.of(options.get("--record")), service.record(request).getText());
      }
    } catch (StatusRuntimeException error) {
      System.err.println(error.getStatus().getCode() + ": " + error.getStatus().getDescription());
      System.exit(1);
    }
  }

  /** Play a game to the end; return its record. */
  private Record game() {
    var deal = DealRequest.newBuilder().setGame(game);
    seed.ifPresent(deal::setSeed);
    var dealt = service.deal(deal.build());
    System.out.printf("%s, %d players, seed %s%n", game.getGameId(), game.getPlayers(), Long.toUnsignedString(dealt.getSeed()));

    var record = dealt.getRecord();
    var toAct = dealt.getToAct();
    var over = false;
    for (var moves = 0; !over; moves++) {
      var request = PlayRequest.newBuilder().setStanding(standing(record));
      if (toAct != Seat.SEAT_UNSPECIFIED) { // without an action, the server plays chance
        var suggestion = decide(record, toAct, moves == 0);
        request.setAction(suggestion.getBest());
        System.out.printf("%s  %s%n", toAct.name().substring(5), describe(suggestion));
      }
      if (seed.isPresent()) {
        request.setSeed(seed.get() + moves);
      }
      var played = service.play(request.build());
      record = played.getRecord();
      toAct = played.getToAct();
      over = played.getOver();
    }

    var result = service.result(GetResultRequest.newBuilder().setStanding(standing(record)).build());
    System.out.println("points " + result.getPointsList().stream().map(String::valueOf).collect(joining(" ")));
    System.out.println("win " + result.getWinSharesList().stream().map(String::valueOf).collect(joining(" ")));
    return record;
  }

  /** Get the suggestion for a seat; SolverService gets only the view of that seat. */
  private Suggestion decide(Record record, Seat seat, boolean showsThinking) {
    var request = GetViewsRequest.newBuilder().setStanding(standing(record)).addSeats(seat).build();
    var view = service.views(request).getViews(0);
    if (showsThinking) {
      showThinking(view);
    }
    return service.suggest(SuggestRequest.newBuilder().setView(view).setBudget(budget).build()).getSuggestion();
  }

  /** Print intermediate answers until the best move is stable. */
  private void showThinking(View view) {
    var request =
        AnalyzeRequest.newBuilder()
            .setView(view)
            .setBudget(Budget.newBuilder().setTime(Durations.fromSeconds(SECONDS)))
            .setInterval(Durations.fromMillis(60))
            .build();
    var streak = new Streak();
    service.analyze(
        request,
        answer -> {
          System.out.println("  thinking: " + describe(answer.getSuggestion()));
          return streak.add(answer.getSuggestion().getBest().getText()) < STABLE_ANSWERS;
        });
  }

  /** Count the answers in a row with the same best move. */
  private static final class Streak {
    private String last = "";
    private int times;

    int add(String best) {
      times = best.equals(last) ? times + 1 : 1;
      last = best;
      return times;
    }
  }

  private static Standing standing(Record record) {
    return Standing.newBuilder().setRecord(record).build();
  }

  private static String describe(Suggestion suggestion) {
    var win = suggestion.getCandidatesCount() == 0 ? null : suggestion.getCandidates(0);
    var share = win == null || !win.hasWin() ? "" : String.format("  win %.1f %%", win.getWin().getMean() * 100);
    return suggestion.getBest().getText() + share + "  (" + suggestion.getIterations() + " iterations)";
  }

  private static Map<String, String> flags(String[] arguments) {
    var options = new HashMap<String, String>();
    for (var i = 0; i < arguments.length; i += 2) {
      if (!FLAGS.contains(arguments[i]) || i + 1 == arguments.length) {
        System.err.println(arguments[i] + ": unknown option; accepted: " + String.join(" VALUE, ", FLAGS) + " VALUE");
        System.exit(2);
      }
      options.put(arguments[i], arguments[i + 1]);
    }
    return options;
  }
}
