"""The words of the command line in French."""

MESSAGES = {
    "move": "coup",
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
    "suggest.then": "Ensuite sans doute : {line}",
    "suggest.mix": "Équivalents à l’erreur près ; pour être imprévisible, jouer : {moves}",
    "suggest.not_to_act": "C’est à {seat} de jouer : il n’y a pas de coup à proposer.",
    "suggest.hidden": "Cartes cachées probables",
    "suggest.shown": "Effet de montrer vos cartes",
    "suggest.if_shown": "victoire % si montrée",
    "suggest.guessed": "devinée par",
    "suggest.more": "et {n} de plus (--lines {all} les affiche tous)",
    "rules.game": "jeu",
    "rules.players": "joueurs",
    "rules.editions": "éditions",
    "rules.range": "{least} à {most}",
    "rules.title": "{names} : {edition}, {n} joueurs",
    "rules.names": "noms",
    "rules.origin": "{game} vient de {origin}. {fault}",
    "rules.switches": "Options de {game}",
    "rules.switch": "option et signification",
    "rules.here": "ici",
    "rules.more": "eminence rules --game JEU affiche ses cartes.",
}
