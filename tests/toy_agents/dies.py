"""Ends in the middle of a prompt, with exit code 3 and last words. `drop` instead leaves a child that keeps
stdout open; `close` closes stdout and lives on until its stdin ends."""

import os
import subprocess
import sys

from echo import Echo


class Dies(Echo):
    def on_session_prompt(self, params, id):
        text = params["prompt"][0]["text"]
        self.say(params["sessionId"], "so far")
        if text == "close":
            sys.stdout.flush()
            os.dup2(2, 1)
            return
        if text == "drop":
            subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
        sys.stderr.write("Traceback: the roof is on fire\n")
        sys.stderr.flush()
        os._exit(3)


Dies().run()
