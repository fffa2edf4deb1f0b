"""The words of the command line in German."""

MESSAGES = {
    "move": "Zug",
    "win": "Sieg %",
    "points": "Punkte",
    "ranks": "Ränge %",
    "visits": "Besuche",
    "then": "dann",
    "seat": "Sitz",
    "where": "wo",
    "may_be": "vielleicht",
    "hand": "Hand",
    "card": "Karte",
    "does": "Wirkung",
    "others": "{n} andere",
    "play.you": "Du bist {seat}. ? zeigt die Befehle.",
    "play.bots": "Es spielen {seats}.",
    "play.commands": "? zeigt die Befehle.",
    "play.help": """\
  3                 den Zug mit dieser Nummer spielen
  place Spy back    diesen Zug spielen, in Notation
  moves             alle Züge, mit ihrer Notation
  cards, c          die Wirkung jeder Karte
  hint              die Züge, die das Programm vorschlägt, nach dem, was du siehst
  beliefs           die wahrscheinlichen verdeckten Karten der anderen
  undo              deine letzte Wahl zurücknehmen
  table             den Tisch noch einmal zeigen
  text              den Tisch, wie du ihn siehst, als Text für andere Befehle
  save DATEI        die Partie mit allen Karten speichern, auch verdeckten
  comment TEXT      diesen Kommentar zur letzten Aktion mit der Partie speichern
  quit              aufhören""",
    "play.help_server": """\
  again             den Server nach einem Fehler noch einmal fragen
  alone             ohne den Server weiterspielen""",
    "play.waits": "Die Partie wartet. again fragt noch einmal, alone spielt ohne den Server, save DATEI speichert.",
    "play.can_leave": "alone spielt ohne den Server weiter.",
    "play.alone": "Von nun an spielt dieser Rechner die anderen.",
    "play.range": "{number} liegt nicht in 1..{most}.",
    "play.impossible": "{move} ist jetzt nicht möglich; moves zeigt die möglichen Züge.",
    "play.no_undo": "Du hast noch keine Wahl getroffen, die du zurücknehmen kannst.",
    "play.no_file": "Eine Datei fehlt: save DATEI",
    "play.saved": "Gespeichert: {path}",
    "play.not_saved": "{path}: {why}; die Partie ist nicht gespeichert.",
    "play.more": "und {n} weitere: moves",
    "play.no_cards": "Die Karten dieses Spiels sind nicht beschrieben.",
    "play.wins": "Die Partie ist zu Ende: {winners} gewinnt.",
    "play.wins.you": "Die Partie ist zu Ende: du gewinnst.",
    "play.share": "Die Partie ist zu Ende: {winners} teilen den Sieg.",
    "play.and": " und ",
    "suggest.play": "Spiele: {move}",
    "suggest.then": "Dann wohl: {line}",
    "suggest.mix": "Gleich gut im Rahmen des Fehlers; um schwer lesbar zu sein, spiele: {moves}",
    "suggest.not_to_act": "{seat} ist am Zug, also gibt es keinen Zug vorzuschlagen.",
    "suggest.hidden": "Wahrscheinliche verdeckte Karten",
    "suggest.shown": "Wirkung, wenn du deine Karten zeigst",
    "suggest.if_shown": "Sieg %, wenn gezeigt",
    "suggest.guessed": "erraten von",
    "suggest.more": "und {n} weitere (--lines {all} zeigt alle)",
    "rules.game": "Spiel",
    "rules.players": "Spieler",
    "rules.editions": "Ausgaben",
    "rules.range": "{least} bis {most}",
    "rules.title": "{names}: {edition}, {n} Spieler",
    "rules.names": "Namen",
    "rules.origin": "{game} ist von {origin}. {fault}",
    "rules.switches": "Schalter von {game}",
    "rules.switch": "Schalter und Bedeutung",
    "rules.here": "hier",
    "rules.more": "eminence rules --game SPIEL zeigt seine Karten.",
}
