"""Let tests press Ctrl-C wherever they run."""

import signal

# Jobs that a script puts into the background ignore Ctrl-C, and so do the programs that they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
