"""The words of the command line in French."""

MESSAGES = {
    "move": "coup",
    "played": "joué",
    "win": "victoire %",
    "points": "points",
    "ranks": "rangs %",
    "visits": "visites",
    "then": "ensuite",
    "seat": "siège",
    "where": "où",
    "may_be": "peut être",
    "hand": "main",
    "card": "carte",
    "does": "effet",
    "others": "{n} autres",
    "play.you": "Vous êtes {seat}. ? affiche les commandes.",
    "play.bots": "Jouent : {seats}.",
    "play.commands": "? affiche les commandes.",
    "play.help": """\
  3                 jouer le coup de ce numéro
  place Spy back    jouer ce coup, en notation
  moves             tous les coups, avec leur notation
  cards, c          l’effet de chaque carte
  hint              les coups que le moteur propose, d’après ce que vous voyez
  beliefs           les cartes cachées probables des autres
  undo              reprendre votre dernier choix
  table             montrer la table à nouveau
  text              la table comme vous la voyez, en texte pour d’autres commandes
  save FICHIER      enregistrer la partie avec toutes les cartes, même cachées
  comment TEXTE     enregistrer ce commentaire sur la dernière action
  quit              quitter""",
    "play.help_server": """\
  again             redemander au serveur après un échec
  alone             continuer sans le serveur""",
    "play.waits": "La partie attend. again redemande, alone continue sans le serveur, save FICHIER enregistre.",
    "play.can_leave": "alone continue sans le serveur.",
    "play.alone": "À partir d’ici, cette machine joue les autres.",
    "play.range": "{number} n’est pas dans 1..{most}.",
    "play.impossible": "{move} est impossible maintenant ; moves affiche les coups possibles.",
    "play.no_undo": "Vous n’avez fait aucun choix à reprendre.",
    "play.no_file": "Il faut un fichier : save FICHIER",
    "play.saved": "Enregistré : {path}",
    "play.not_saved": "{path} : {why} ; la partie n’est pas enregistrée.",
    "play.more": "et {n} de plus : moves",
    "play.no_cards": "Les cartes de ce jeu ne sont pas décrites.",
    "play.wins": "La partie est finie : {winners} gagne.",
    "play.wins.you": "La partie est finie : vous gagnez.",
    "play.share": "La partie est finie : {winners} partagent la victoire.",
    "play.and": " et ",
    "suggest.play": "Jouer : {move}",
    "suggest.mix": "Équivalents à l’erreur près ; pour être imprévisible, jouer : {moves}",
    "suggest.not_to_act": "C’est à {seat} de jouer : il n’y a pas de coup à proposer.",
    "suggest.hidden": "Cartes cachées probables",
    "suggest.shown": "Effet de montrer vos cartes",
    "suggest.if_shown": "victoire % si montrée",
    "suggest.guessed": "devinée par",
    "suggest.more": "et {n} de plus (--lines {all} les affiche tous)",
    "review.title": "{game}, {edition}, {n} joueurs",
    "review.no": "n°",
    "review.win": "victoire",
    "review.lost": "perdu",
    "review.grade": "note",
    "review.better": "mieux : ",
    "review.round": "tour {n}",
    "review.rounds": "tour",
    "review.expected": "Part de victoire que chaque siège pouvait espérer, selon ce qu’il savait",
    "review.parts": "De la part égale au résultat, en % de la victoire (hasard : donne comprise)",
    "review.units": "victoire, perdu : % de la victoire",
    "review.notes": "Commentaires et variantes de la partie",
    "grade.best": "meilleur",
    "grade.fine": "bon",
    "grade.inaccuracy": "imprécision",
    "grade.mistake": "erreur",
    "grade.blunder": "gaffe",
    "part.fair": "part égale",
    "part.chance": "hasard",
    "part.opponents": "erreurs des autres",
    "part.hidden": "cartes cachées",
    "part.rest": "caché, jeu des autres",
    "part.own": "pertes propres",
    "part.outcome": "résultat",
    "part.expected": "espéré",
    "unit.points": "points",
    "unit.gold": "or",
    "report.page": "{game} : une partie jugée",
    "report.title": "{game} : analyse d’une partie",
    "report.about": "{n} joueurs · {actions} actions · chaque décision notée selon ce que son siège savait",
    "report.face_down": "face cachée",
    "report.tokens": "{n} jetons",
    "report.acts": ", agit maintenant",
    "report.row": "{place}, de gauche à droite",
    "report.queue": "La file, de la première carte résolue à la dernière",
    "report.no_card": "Aucune carte sur la table.",
    "report.empty": "vide",
    "report.selected": "choisies",
    "report.hand": "main",
    "report.aside": "écartées",
    "report.piles": "défausses",
    "report.seats": "Sièges",
    "report.won": "a gagné",
    "report.shared": "a partagé la victoire",
    "report.decisions": "{n} décisions",
    "report.way": "D’une part égale de la victoire au résultat",
    "report.way_expected": "D’une part égale à la dernière part espérée",
    "report.own_lost": "Perdu par ses propres décisions : {share} % de la victoire.",
    "report.luck_unknown": "La chance n’est connue que si la partie contient toutes les cartes.",
    "report.chances": "Chances de gagner",
    "report.chances_about": (
        "La part de victoire que chaque siège pouvait espérer en décidant, selon ce qu’il savait. Une "
        "marche vers le bas est la perte d’une décision ; entre deux décisions, le hasard, le jeu des "
        "autres et les cartes cachées la changent."
    ),
    "report.graph": "Graphique des chances ; les mêmes nombres sont dans la liste des décisions",
    "report.dot": "{number}. {seat} {move} : {share} %",
    "report.bad": "{grade} de {seat} : {move}",
    "report.bad_dot": "{number}. {seat} {move} : {grade}, {share} % perdus",
    "report.worst": "Les décisions les plus coûteuses",
    "report.worst_lost": "a perdu {share} % de la victoire ; mieux :",
    "report.list": "Décisions",
    "report.which": "Quelles décisions",
    "report.only_bad": "seulement les décisions qui ont coûté",
    "report.whose": "Décisions de qui",
    "report.better": "mieux",
    "report.start_notes": "Commentaires au début",
    "report.round": "Tour {n}",
    "report.has_notes": "avec commentaires ou variantes",
    "report.saw": "Ce que {seat} voyait",
    "report.happened": "Ce qui suivit",
    "report.played": "Joué",
    "report.played_better": "Joué, et mieux",
    "report.places": "places, de la première à la dernière, en %",
    "report.place": "place {n} : {share} %",
    "report.of": "sur {n}",
    "report.loss": (
        "Les chiffres du meilleur coup sont ceux de la recherche. Le coup joué a les mêmes, moins la "
        "perte : {share} ± {error} % de la victoire, mesurée pour les deux coups sur les mêmes cartes "
        "cachées."
    ),
    "report.since": (
        "Depuis la dernière décision de {seat}, ou le début : donne et hasard {chance} %, erreurs des "
        "autres {opponents} %, cartes cachées {hidden} %."
    ),
    "report.since_one": (
        "Depuis la dernière décision de {seat}, ou le début : donne et hasard {chance} %, cartes "
        "cachées et erreurs des autres {hidden} %."
    ),
    "report.line": "La suite probable",
    "report.better_line": "La meilleure suite",
    "report.believed": "Ce que {seat} pouvait croire",
    "report.reviewed": "Analysé par eminence, moteur {engine}, graine {seed}",
    "report.iterations": "{n} itérations par décision",
    "report.same": "La même commande donne le même rapport.",
    "report.differs": "Une limite de temps a terminé des recherches : un autre passage peut différer un peu.",
    "report.record": "La partie",
}
