"""The words of the command line in English."""

MESSAGES = {
    # Tables.
    "move": "move",
    "played": "played",
    "win": "win %",
    "points": "points",
    "ranks": "ranks %",
    "visits": "visits",
    "then": "then",
    "seat": "seat",
    "where": "where",
    "may_be": "may be",
    "hand": "hand",
    "card": "card",
    "does": "effect",
    "others": "{n} others",
    # eminence play.
    "play.you": "You are {seat}. ? lists the commands.",
    "play.bots": "{seats} play.",
    "play.commands": "? lists the commands.",
    "play.help": """\
  3                 play the move of that number
  place Spy back    play this move, in notation
  moves             list all moves, with their notation
  cards, c          what each card does
  hint              the moves that the engine suggests, given what you see
  beliefs           the likely hidden cards of the others
  undo              take your last choice back
  table             show the table again
  text              the table as you see it, as text for other commands
  save FILE         save the game, with all cards, hidden ones too
  comment TEXT      save this comment on the last action with the game
  quit              leave""",
    "play.help_server": """\
  again             ask the server again after a failure
  alone             go on without the server""",
    "play.waits": "The game waits. again asks once more, alone continues without the server, save FILE keeps the game.",
    "play.can_leave": "alone continues without the server.",
    "play.alone": "From here on, this machine plays the others.",
    "play.range": "{number} is not in 1..{most}.",
    "play.impossible": "{move} is not possible now; moves lists the possible ones.",
    "play.no_undo": "You have made no choice that can be taken back.",
    "play.no_file": "A file is required: save FILE",
    "play.saved": "Saved: {path}",
    "play.not_saved": "{path}: {why}; the game is not saved.",
    "play.more": "and {n} more: moves",
    "play.no_cards": "The cards of this game are not described.",
    "play.wins": "The game is over: {winners} wins.",
    "play.wins.you": "The game is over: you win.",
    "play.share": "The game is over: {winners} share the win.",
    "play.and": " and ",
    # eminence suggest.
    "suggest.play": "Play: {move}",
    "suggest.then": "Then likely: {line}",
    "suggest.mix": "Equally good within the error; to be hard to read, play: {moves}",
    "suggest.not_to_act": "{seat} is to act, so there is no move to suggest.",
    "suggest.hidden": "Likely hidden cards",
    "suggest.shown": "Effect of showing your cards",
    "suggest.if_shown": "win % if shown",
    "suggest.guessed": "guessed by",
    "suggest.more": "and {n} more (--lines {all} shows all)",
    # eminence review and its report.
    "review.title": "{game}, {edition}, {n} players",
    "review.no": "no",
    "review.win": "win",
    "review.lost": "lost",
    "review.grade": "grade",
    "review.better": "better: ",
    "review.round": "round {n}",
    "review.rounds": "round",
    "review.expected": "Share of the win that each seat could expect, given its knowledge",
    "review.parts": "From a fair share to the outcome, in % of the win (chance: the deal, too)",
    "review.units": "win, lost: % of the win",
    "review.notes": "Comments and variations of the record",
    "grade.best": "best",
    "grade.fine": "fine",
    "grade.inaccuracy": "inaccuracy",
    "grade.mistake": "mistake",
    "grade.blunder": "blunder",
    "part.fair": "fair share",
    "part.chance": "chance",
    "part.opponents": "others' mistakes",
    "part.hidden": "hidden cards",
    "part.rest": "hidden, others' play",
    "part.own": "own losses",
    "part.outcome": "outcome",
    "part.expected": "expected",
    "way.fair": "fair",
    "way.chance": "chance",
    "way.opponents": "others' mistakes",
    "way.hidden": "hidden cards",
    "way.rest": "hidden, others' play",
    "way.own": "own losses",
    "way.outcome": "outcome",
    "way.expected": "expected",
    "unit.points": "points",
    "unit.gold": "gold",
    "report.page": "{game}: a game, judged",
    "report.title": "{game}: review of a game",
    "report.about": "{n} players · {actions} actions · each decision graded, given what its seat knew then",
    "report.face_down": "face down",
    "report.tokens": "{n} tokens",
    "report.acts": ", acts now",
    "report.row": "{place}, from left to right",
    "report.queue": "The queue, from the first resolved to the last",
    "report.no_card": "No card is on the table yet.",
    "report.empty": "empty",
    "report.selected": "selected",
    "report.hand": "hand",
    "report.aside": "set aside",
    "report.piles": "piles",
    "report.seats": "Seats",
    "report.won": "won",
    "report.shared": "shared the win",
    "report.decisions": "{n} decisions",
    "report.way": "From a fair share of the win to the outcome",
    "report.way_expected": "From a fair share of the win to the share expected last",
    "report.own_lost": "Lost by its own decisions: {share} % of the win.",
    "report.luck_unknown": "Luck is known only if the record holds all cards.",
    "report.chances": "Chances to win",
    "report.chances_about": (
        "The share of the win that each seat could expect when it decided, given what it knew. A step "
        "down at a mark is the loss of a decision; chance, the others’ play and hidden cards change it "
        "between two decisions."
    ),
    "report.graph": "Graph of win chances; the same numbers stand in the list of decisions",
    "report.dot": "{number}. {seat} {move}: {share} %",
    "report.bad": "{grade} by {seat}: {move}",
    "report.bad_dot": "{number}. {seat} {move}: {grade}, {share} % lost",
    "report.worst": "The costliest decisions",
    "report.worst_lost": "lost {share} % of the win; better was",
    "report.list": "Decisions",
    "report.which": "Which decisions",
    "report.only_bad": "only decisions that lost something",
    "report.whose": "Whose decisions",
    "report.better": "better",
    "report.start_notes": "Comments at the start",
    "report.round": "Round {n}",
    "report.has_notes": "with comments or variations",
    "report.saw": "What {seat} saw",
    "report.happened": "What followed",
    "report.played": "Played",
    "report.played_better": "Played, and better",
    "report.places": "places, first to last, in %",
    "report.place": "place {n}: {share} %",
    "report.of": "of {n}",
    "report.loss": (
        "The better move’s figures are those of the search. The played move has the same, less the "
        "loss: {share} ± {error} % of the win, measured for both moves on the same hidden cards."
    ),
    "report.since": (
        "Since {seat}’s last decision, or the start: deal and chance {chance} %, others’ mistakes "
        "{opponents} %, hidden cards {hidden} %."
    ),
    "report.since_one": (
        "Since {seat}’s last decision, or the start: deal and chance {chance} %, hidden cards and "
        "others’ mistakes {hidden} %."
    ),
    "report.line": "The likely continuation",
    "report.better_line": "The better line",
    "report.believed": "Beliefs of {seat}",
    "report.reviewed": "Reviewed by eminence, engine {engine}, seed {seed}",
    "report.iterations": "{n} iterations per decision",
    "report.same": "The same command gives the same report.",
    "report.differs": "A time limit ended searches: another run may differ a little.",
    "report.record": "The record",
    # eminence rules.
    "rules.game": "game",
    "rules.players": "players",
    "rules.editions": "editions",
    "rules.range": "{least} to {most}",
    "rules.title": "{names}: {edition}, {n} players",
    "rules.names": "names",
    "rules.origin": "{game} is from {origin}. {fault}",
    "rules.switches": "Switches of {game}",
    "rules.switch": "switch and meaning",
    "rules.here": "here",
    "rules.more": "eminence rules --game GAME shows its cards.",
}
