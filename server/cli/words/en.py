"""The words of the command line in English."""

MESSAGES = {
    # Tables.
    "move": "move",
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
