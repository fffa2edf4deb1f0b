"""Bridges between our games and OpenSpiel, a module for each direction. They need the extra `openspiel`."""
