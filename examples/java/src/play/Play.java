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
 * A whole game: the Referee deals and plays, and every seat asks the adviser what to do, with nothing but its own view.
 *
 * <pre>build/play --seed 7 --players 3</pre>
 */
public final class Play {
  private static final List<String> FLAGS =
      List.of("--address", "--token", "--game", "--players", "--seed", "--iterations", "--record");

  /** So much for each move, or the iterations, whichever comes first. */
  private static final long SECONDS = 5;

  /** Thinking aloud ends when the same move has been best so many times in a row. */
  private static final int SETTLED = 3;

  private final Service service;
  private final GameSpec game;
  private final Budget budget;
  private final Optional<Long> seed;

  private Play(Service service, Map<String, String> given) {
    this.service = service;
    game =
        GameSpec.newBuilder()
            .setGameId(given.getOrDefault("--game", "oriflamme"))
            .setPlayers(Integer.parseInt(given.getOrDefault("--players", "3")))
            .build();
    budget =
        Budget.newBuilder()
            .setTime(Durations.fromSeconds(SECONDS))
            .setIterations(Long.parseLong(given.getOrDefault("--iterations", "2000")))
            .build();
    seed = Optional.ofNullable(given.get("--seed")).map(Long::parseUnsignedLong);
  }

  public static void main(String[] arguments) throws IOException {
    var given = flags(arguments);
    var address = given.getOrDefault("--address", "127.0.0.1:50051");
    try (var service = new Service(address, given.getOrDefault("--token", ""))) {
      var record = new Play(service, given).game();
      if (given.containsKey("--record")) {
        var request = GetRecordRequest.newBuilder().setRecord(record).build();
        Files.writeString(Path.of(given.get("--record")), service.record(request).getText());
      }
    } catch (StatusRuntimeException error) {
      System.err.println(error.getStatus().getCode() + ": " + error.getStatus().getDescription());
      System.exit(1);
    }
  }

  /** Plays a game to its end, and returns its record. */
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
      if (toAct != Seat.SEAT_UNSPECIFIED) { // otherwise chance decides for itself
        var suggestion = decide(record, toAct, moves == 0);
        request.setAction(suggestion.getBest());
        System.out.printf("%s  %s%n", toAct.name().substring(5), told(suggestion));
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

  /** What a seat decides: all it gets is its own view. */
  private Suggestion decide(Record record, Seat seat, boolean aloud) {
    var request = GetViewsRequest.newBuilder().setStanding(standing(record)).addSeats(seat).build();
    var view = service.views(request).getViews(0);
    if (aloud) {
      thinkAloud(view);
    }
    return service.suggest(SuggestRequest.newBuilder().setView(view).setBudget(budget).build()).getSuggestion();
  }

  /** Shows how the answer grows, until it seems to stay. */
  private void thinkAloud(View view) {
    var request =
        AnalyzeRequest.newBuilder()
            .setView(view)
            .setBudget(Budget.newBuilder().setTime(Durations.fromSeconds(SECONDS)))
            .setInterval(Durations.fromMillis(60))
            .build();
    var settling = new Settling();
    service.analyze(
        request,
        answer -> {
          System.out.println("  thinking: " + told(answer.getSuggestion()));
          return settling.add(answer.getSuggestion().getBest().getText()) < SETTLED;
        });
  }

  /** Counts how often in a row the same move was best. */
  private static final class Settling {
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

  private static String told(Suggestion suggestion) {
    var win = suggestion.getCandidatesCount() == 0 ? null : suggestion.getCandidates(0);
    var share = win == null || !win.hasWin() ? "" : String.format("  win %.1f %%", win.getWin().getMean() * 100);
    return suggestion.getBest().getText() + share + "  (" + suggestion.getIterations() + " iterations)";
  }

  private static Map<String, String> flags(String[] arguments) {
    var given = new HashMap<String, String>();
    for (var i = 0; i < arguments.length; i += 2) {
      if (!FLAGS.contains(arguments[i]) || i + 1 == arguments.length) {
        System.err.println(arguments[i] + ": is none of " + String.join(" VALUE, ", FLAGS) + " VALUE");
        System.exit(2);
      }
      given.put(arguments[i], arguments[i + 1]);
    }
    return given;
  }
}
