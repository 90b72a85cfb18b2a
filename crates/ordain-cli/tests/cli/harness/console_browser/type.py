"""Runs a command on a terminal of its own and types: type.py PROMPT LINE [PROMPT LINE …] -- COMMAND …"""

import os
import pty
import select
import sys
import time

split = sys.argv.index("--")
answers = list(zip(sys.argv[1:split:2], sys.argv[2:split:2]))
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[split + 1], sys.argv[split + 1:])
shown, answered, end = "", 0, time.monotonic() + 60
while time.monotonic() < end:
    ready, _, _ = select.select([terminal], [], [], 0.2)
    if ready:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data.decode(errors="replace")
    if answers and answers[0][0] in shown[answered:]:
        answered += shown[answered:].index(answers[0][0]) + len(answers[0][0])
        time.sleep(0.1)
        os.write(terminal, answers.pop(0)[1].encode() + b"\n")
_, status = os.waitpid(pid, 0)
sys.stdout.write(shown)
sys.exit(os.waitstatus_to_exitcode(status))
