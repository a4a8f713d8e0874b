"""Python's subprocess, over the protocol of the drivers (see serve.mjs)."""

import json
import os
import platform
import subprocess
import sys
import threading
from time import perf_counter_ns as now

BLOCK = 64 * 1024
ballast = []
live = []


def start(file):
    null = subprocess.DEVNULL
    return subprocess.Popen([file], stdin=null, stdout=null, stderr=null)


def start_piped(*command):
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)


def end_piped(child):
    for stream in (child.stdin, child.stdout, child.stderr):
        stream.close()
    child.wait()


def calls(file, count):
    blocked, exited = [], []
    for _ in range(int(count)):
        begin = now()
        child = start(file)
        blocked.append(now() - begin)
        child.wait()
        exited.append(now() - begin)
    return {"blocked": blocked, "exited": exited}


def throughput(file, in_flight, count):
    in_flight, count = int(in_flight), int(count)

    def run_share(share):
        for _ in range(share):
            start(file).wait()

    shares = [count // in_flight + (i < count % in_flight) for i in range(in_flight)]
    threads = [threading.Thread(target=run_share, args=(share,)) for share in shares]
    begin = now()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"elapsed": now() - begin}


def read(pour, size):
    begin = now()
    child = start_piped(pour, "out", size)
    descriptor, total = child.stdout.fileno(), 0
    while block := os.read(descriptor, BLOCK):
        total += len(block)
    end_piped(child)
    return {"elapsed": now() - begin, "bytes": total}


def write(pour, size):
    begin = now()
    child = start_piped(pour, "in")
    block, left = bytes(BLOCK), int(size)
    while left > 0:
        left -= os.write(child.stdin.fileno(), block)
    end_piped(child)
    return {"elapsed": now() - begin, "bytes": int(size)}


def hold_live(pour, count):
    while len(live) < int(count):
        live.append(start_piped(pour, "in"))
    return {}


def release():
    while live:
        child = live.pop()
        child.kill()
        end_piped(child)
    return {}


def hold_buffers(mebibytes):
    ballast.append(b"\1" * (int(mebibytes) << 20))
    return {}


def hold_descriptors(count):
    ballast.extend(os.open("/dev/null", os.O_RDONLY) for _ in range(int(count)))
    return {}


REQUESTS = {
    "calls": calls,
    "throughput": throughput,
    "read": read,
    "write": write,
    "live": hold_live,
    "release": release,
    "buffers": hold_buffers,
    "descriptors": hold_descriptors,
}


def reply(value):
    print(json.dumps(value), flush=True)


reply({"version": platform.python_version()})
for line in sys.stdin:
    name, *fields = line.rstrip("\n").split("\t")
    try:
        reply(REQUESTS[name](*fields))
    except Exception as error:  # The harness reports it and goes on with the other drivers.
        reply({"error": repr(error)})
