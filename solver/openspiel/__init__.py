"""Our games for other people's programs. Each bridge is a module of its own; importing it needs its own packages."""
