"""Runs a command with a pseudo-terminal as its controlling terminal, for terminal.ts.

    python3 pty_driver.py ROWS COLUMNS COMMAND [ARGUMENT...]

Reads one JSON object a line: {"send": text}, {"resize": [rows, columns]} or {"hangUp": true}.
Writes one a line: {"pid": of the command}, {"out": text} as it comes, and at the end
{"exited": code} or {"signaled": number}.
"""
import codecs
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def tell(**message):
    os.write(1, (json.dumps(message) + "\n").encode())


def main():
    rows, columns = int(sys.argv[1]), int(sys.argv[2])
    command = sys.argv[3:]
    pid, master = pty.fork()
    if pid == 0:
        # A runner may ignore these, and a shell that starts so lets its jobs ignore them.
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    set_size(master, rows, columns)
    tell(pid=pid)

    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    lines = b""
    watched = [0, master]
    while master in watched:
        ready, _, _ = select.select(watched, [], [])
        if master in ready:
            try:
                data = os.read(master, 65536)
            except OSError:  # EIO: the last process of the terminal has closed it
                data = b""
            if data:
                tell(out=decode(data))
            else:
                watched.remove(master)
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                watched = []  # The test is over or gone: hang up.
            lines += data
            while b"\n" in lines:
                line, lines = lines.split(b"\n", 1)
                message = json.loads(line)
                if "send" in message:
                    os.write(master, message["send"].encode())
                elif "resize" in message:
                    set_size(master, *message["resize"])
                else:
                    watched = []
    os.close(master)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        tell(signaled=os.WTERMSIG(status))
    else:
        tell(exited=os.WEXITSTATUS(status))


main()
