"""Starts the demo's parent with things to leak: a listener, two files and made-up credentials.

JavaScript cannot clear close-on-exec, and need not: service managers, shells and native add-ons
hand descriptors like these to Node processes every day. This file plays that part, honestly:
plain system calls, then exec.
"""

import os
import socket
import sys

# Node seals what it inherits only up to the first free number above 15, so 20, 24 and 30 stay open.
LISTENER, CUSTOMERS, AUDIT_LOG = 20, 24, 30

MADE_UP_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "made-up",
    "AWS_SECRET_ACCESS_KEY": "made-up",
    "DATABASE_URL": "postgres://made-up:made-up@db.invalid/customers",
    "GITHUB_TOKEN": "made-up",
    "STRIPE_API_KEY": "made-up",
}


def main(folder: str, command: list[str]) -> None:
    # What the terminal or npm left open is not part of the demo.
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                pass  # The descriptor of the listing itself.

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # As servers do, so that closed connections (TIME_WAIT) do not hold the port.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    os.dup2(listener.fileno(), LISTENER)  # dup2 clears close-on-exec.
    os.dup2(os.open(os.path.join(folder, "customers.csv"), os.O_RDONLY), CUSTOMERS)
    os.dup2(os.open(os.path.join(folder, "audit.log"), os.O_WRONLY | os.O_APPEND), AUDIT_LOG)

    # Nothing of the real environment that could be a secret takes part.
    kept = ("LANG", "LC_ALL", "TZ", "TERM", "USER", "NO_COLOR")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    environment["HOME"] = folder
    environment.update(MADE_UP_CREDENTIALS)
    os.execve(command[0], command, environment)


main(sys.argv[1], sys.argv[2:])
