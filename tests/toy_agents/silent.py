"""Answers nothing but the methods named as arguments, and ignores SIGTERM; with the argument `stubborn` it
also ignores the end of its input, and has a child."""

import os
import signal
import subprocess
import sys

from echo import Echo


class Silent(Echo):
    def receive(self, message):
        if message.get("method") in sys.argv[1:]:
            super().receive(message)
        else:
            sys.stderr.write(f"heard {message.get('method')}\n")


signal.signal(signal.SIGTERM, signal.SIG_IGN)
Silent().run()
while "stubborn" in sys.argv:
    subprocess.run(["sleep", "1000"])
os._exit(0)
