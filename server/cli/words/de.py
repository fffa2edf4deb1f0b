"""The words of the command line in German."""

MESSAGES = {
    "move": "Zug",
    "played": "gespielt",
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
    "suggest.mix": "Gleich gut im Rahmen des Fehlers; um schwer lesbar zu sein, spiele: {moves}",
    "suggest.not_to_act": "{seat} ist am Zug, also gibt es keinen Zug vorzuschlagen.",
    "suggest.hidden": "Wahrscheinliche verdeckte Karten",
    "suggest.shown": "Wirkung, wenn du deine Karten zeigst",
    "suggest.if_shown": "Sieg %, wenn gezeigt",
    "suggest.guessed": "erraten von",
    "suggest.more": "und {n} weitere (--lines {all} zeigt alle)",
    "review.title": "{game}, {edition}, {n} Spieler",
    "review.no": "Nr.",
    "review.win": "Sieg",
    "review.lost": "verloren",
    "review.grade": "Note",
    "review.better": "besser: ",
    "review.round": "Runde {n}",
    "review.rounds": "Runde",
    "review.expected": "Anteil am Sieg, den jeder Sitz nach seinem Wissen erwarten konnte",
    "review.parts": "Vom gleichen Anteil zum Ergebnis, in % des Sieges (Zufall: auch das Geben)",
    "review.units": "Sieg, verloren: % des Sieges",
    "review.notes": "Kommentare und Varianten der Aufzeichnung",
    "grade.best": "bester",
    "grade.fine": "gut",
    "grade.inaccuracy": "Ungenauigkeit",
    "grade.mistake": "Fehler",
    "grade.blunder": "Patzer",
    "part.fair": "gleicher Anteil",
    "part.chance": "Zufall",
    "part.opponents": "Fehler der anderen",
    "part.hidden": "verdeckte Karten",
    "part.rest": "Verdecktes, andere",
    "part.own": "eigene Verluste",
    "part.outcome": "Ergebnis",
    "part.expected": "erwartet",
    "unit.points": "Punkte",
    "unit.gold": "Gold",
    "report.page": "{game}: eine bewertete Partie",
    "report.title": "{game}: Analyse einer Partie",
    "report.about": "{n} Spieler · {actions} Aktionen · jede Entscheidung bewertet nach dem Wissen ihres Sitzes",
    "report.face_down": "verdeckt",
    "report.tokens": "{n} Marker",
    "report.acts": ", ist an der Reihe",
    "report.row": "{place}, von links nach rechts",
    "report.queue": "Die Reihe, von der ersten Karte zur letzten",
    "report.no_card": "Noch liegt keine Karte aus.",
    "report.empty": "leer",
    "report.selected": "gewählt",
    "report.hand": "Hand",
    "report.aside": "beiseitegelegt",
    "report.piles": "Ablagen",
    "report.seats": "Sitze",
    "report.won": "gewonnen",
    "report.shared": "hat den Sieg geteilt",
    "report.decisions": "{n} Entscheidungen",
    "report.way": "Vom gleichen Anteil am Sieg zum Ergebnis",
    "report.way_expected": "Vom gleichen Anteil zum zuletzt erwarteten",
    "report.own_lost": "Durch eigene Entscheidungen verloren: {share} % des Sieges.",
    "report.luck_unknown": "Das Glück ist nur bekannt, wenn die Aufzeichnung alle Karten enthält.",
    "report.chances": "Aussichten auf den Sieg",
    "report.chances_about": (
        "Der Anteil am Sieg, den jeder Sitz bei seiner Entscheidung nach seinem Wissen erwarten konnte. "
        "Eine Stufe nach unten ist der Verlust einer Entscheidung; dazwischen ändern ihn Zufall, das "
        "Spiel der anderen und verdeckte Karten."
    ),
    "report.graph": "Kurven der Aussichten; dieselben Zahlen stehen in der Liste der Entscheidungen",
    "report.dot": "{number}. {seat} {move}: {share} %",
    "report.bad": "{grade} von {seat}: {move}",
    "report.bad_dot": "{number}. {seat} {move}: {grade}, {share} % verloren",
    "report.worst": "Die teuersten Entscheidungen",
    "report.worst_lost": "verlor {share} % des Sieges; besser:",
    "report.list": "Entscheidungen",
    "report.which": "Welche Entscheidungen",
    "report.only_bad": "nur Entscheidungen, die etwas kosteten",
    "report.whose": "Wessen Entscheidungen",
    "report.better": "besser",
    "report.start_notes": "Kommentare zu Beginn",
    "report.round": "Runde {n}",
    "report.has_notes": "mit Kommentaren oder Varianten",
    "report.saw": "Was {seat} sah",
    "report.happened": "Was folgte",
    "report.played": "Gespielt",
    "report.played_better": "Gespielt, und besser",
    "report.places": "Plätze, vom ersten zum letzten, in %",
    "report.place": "Platz {n}: {share} %",
    "report.of": "von {n}",
    "report.loss": (
        "Die Zahlen des besseren Zuges sind die der Suche. Der gespielte hat dieselben, abzüglich des "
        "Verlusts: {share} ± {error} % des Sieges, für beide Züge an denselben verdeckten Karten "
        "gemessen."
    ),
    "report.since": (
        "Seit der letzten Entscheidung von {seat}, oder dem Beginn: Geben und Zufall {chance} %, Fehler "
        "der anderen {opponents} %, verdeckte Karten {hidden} %."
    ),
    "report.since_one": (
        "Seit der letzten Entscheidung von {seat}, oder dem Beginn: Geben und Zufall {chance} %, "
        "verdeckte Karten und Fehler der anderen {hidden} %."
    ),
    "report.line": "Die wahrscheinliche Fortsetzung",
    "report.better_line": "Die bessere Fortsetzung",
    "report.believed": "Was {seat} glauben konnte",
    "report.reviewed": "Analysiert von eminence, Engine {engine}, Startwert {seed}",
    "report.iterations": "{n} Iterationen je Entscheidung",
    "report.same": "Derselbe Befehl ergibt denselben Bericht.",
    "report.differs": "Eine Zeitgrenze beendete Suchen: ein anderer Lauf kann etwas abweichen.",
    "report.record": "Die Aufzeichnung",
}
