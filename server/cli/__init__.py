"""What people type: `eminence`.

`main.py` knows each command's name and what it is for, and loads the file of the one that was asked for: a start must
not wait for the engine, gRPC, Ray or plots. A command's file is called as the command is, and has one `click` command
of the same name.
"""
