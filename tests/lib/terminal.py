"""Runs a shell command on a terminal of its own, and writes what it printed there.

    terminal.py COLUMNS[:SECONDS:COLUMNS] COMMAND

After so many seconds the terminal is resized. What the command prints behind that is written behind
a line RESIZED. Ends with status 77 where no terminal can be made.
"""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time


def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def main():
    size = [float(x) for x in sys.argv[1].split(":")]
    try:
        child, terminal = pty.fork()
    except OSError:
        sys.exit(77)
    if child == 0:
        # Until the terminal has its size.
        time.sleep(0.2)
        os.execvp("sh", ["sh", "-c", sys.argv[2]])
    resize(terminal, int(size[0]))
    later = time.monotonic() + size[1] if len(size) > 1 else None
    while True:
        wait = None if later is None else max(0, later - time.monotonic())
        if not select.select([terminal], [], [], wait)[0]:
            later = None
            resize(terminal, int(size[2]))
            # What was on its way is no longer.
            time.sleep(0.3)
            os.read(terminal, 65536) if select.select([terminal], [], [], 0)[0] else None
            os.write(1, b"\nRESIZED\n")
            continue
        try:
            text = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            text = b""
        if not text:
            break
        os.write(1, text)
    os.waitpid(child, 0)


main()
