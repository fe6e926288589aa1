#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What t3's --nodes takes from other nodes: node 0 without a device, and nodes that this test
plays, right ones and wrong ones; TAP on stdout.

usage: gather.py [NAME...]     (default: all tests)
"""

import contextlib
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time

import loop
from loop import BUILD, check

MAGIC = 0x7265687461673354
STATUS, TOP = 1, 2
NODES = 3


def free_port():
    """Of which the next one is free, too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            with contextlib.suppress(OSError, OverflowError):
                second.bind(("127.0.0.1", port + 1))
                return port


def environ(port, node):
    return {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "T3_NODES": str(NODES),
            "T3_NODE": str(node)}


def head(node, size, kind=STATUS, nodes=NODES, magic=MAGIC):
    return struct.pack("<QIIII", magic, kind, node, nodes, size)


def message(node, document, **more):
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return head(node, len(text), **more) + text


class Zero:
    """t3 status --nodes on node 0."""

    def __init__(self, *options, wait="8"):
        self.port = free_port()
        self.process = subprocess.Popen([BUILD / "t3", "status", "--nodes", "--wait", wait, *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=environ(self.port, 0))

    def connect(self):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with contextlib.suppress(ConnectionRefusedError):
                return socket.create_connection(("127.0.0.1", self.port + 1), timeout=20)
            time.sleep(0.01)
        raise AssertionError("node 0 does not listen")

    def send(self, data):
        """Returns the connection."""
        connection = self.connect()
        connection.sendall(data)
        return connection

    def end(self):
        out, err = self.process.communicate(timeout=60)
        check(self.process.returncode == 1, f"status {self.process.returncode}: this node has no device",
              out + err)
        return out, err


def is_closed(connection, taken=b""):
    """After node 0 has acknowledged so many messages."""
    try:
        while byte := connection.recv(1):
            taken = taken[1:] if taken else b"?"
            if taken == b"?" or byte != b"A":
                return False
    except ConnectionResetError:
        pass
    return True


def space(number, state, *parts, epoch=1):
    return {"record": "space", "space": number, "state": state, "epoch": epoch, "pid": 7, "process": "job",
            "parts": list(parts)}


def route(rank, number):
    return {"record": "route", "peer_rank": rank, "peer_space": number}


def device(rank, *spaces, fabric=5):
    return {"index": 0, "pci": "0000:00:04.0", "rank": rank, "fabric": fabric, "spaces": list(spaces),
            "tiles": [], "queues": []}


def who_does_not_answer_is_named():
    zero = Zero(wait="0.3")
    out, err = zero.end()
    check("nothing is in flight on 0 devices of 3 nodes" in out, "the report", out)
    for node in (1, 2):
        check(f"t3: node {node} did not answer within 0.3 s" in err, f"node {node}", err)
    check("t3: node 0 has no status: " in err, "node 0 has no device", err)


def one_report_looks_across_nodes():
    zero = Zero()
    ended = [zero.send(message(1, {"devices": [device(2, space(4, "ARMING", route(5, 9), route(1, 1)))]})),
             zero.send(message(2, {"devices": [device(5, space(9, "FAULTED", epoch=3))]}))]
    out, err = zero.end()
    check("node 1 rank 2 space 4 (pid 7 job): epoch 1 ARMING" in out, "the space", out)
    check("waits until rank 5 space 9 has armed it, which is FAULTED in epoch 3" in out, "its peer", out)
    check("waits until rank 1 space 1 has armed it, which no node has shown" in out, "an unknown peer", out)
    check("node 2 rank 5 space 9 (pid 7 job): epoch 3 FAULTED" in out, "the peer", out)
    check("did not answer" not in err, "both answered", err)
    for connection in ended:
        connection.close()


def json_has_each_node():
    zero = Zero("--json")
    with zero.send(message(1, {"devices": [device(2)]})), zero.send(message(2, {"error": "it burns"})):
        out, err = zero.end()
    nodes = json.loads(out)["nodes"]
    check([node["node"] for node in nodes] == [0, 1, 2], "the nodes", out)
    check(nodes[1]["devices"][0]["rank"] == 2 and nodes[2]["error"] == "it burns", "what they say", out)
    check("node 2 has no status: it burns" in err, "the error", err)


def wrong_nodes_are_ignored():
    """Each breaks one rule. Then the right ones come."""
    good = {"devices": []}
    zero = Zero()
    wrong = [b"GET / HTTP/1.0\r\n\r\n" * 3, message(1, good, magic=1), message(1, good, kind=TOP),
             message(1, good, nodes=NODES + 1), message(0, good), message(NODES, good),
             message(2 ** 32 - 1, good), head(1, 2 ** 32 - 1), head(1, (64 << 20) + 1), message(1, b""),
             message(1, b"{"), message(1, b'{"devices": []} x'), message(1, b"\xff\xfe"),
             message(1, b'{"devices": [], "devices": []}')]
    for data in wrong:
        with zero.send(data) as connection:
            check(is_closed(connection), "node 0 closes the connection", data[:60])
    with zero.send(head(1, 10)[:7]), zero.send(b""), zero.send(message(1, good)), \
            zero.send(message(2, good)):
        _, err = zero.end()
    check("did not answer" not in err and not re.search("node [12]", err), "the right nodes", err)


def a_node_cannot_be_another_one():
    """Who is there already stays, and what a node says first counts."""
    zero = Zero()
    with zero.send(message(1, {"devices": [device(2)]})) as first:
        time.sleep(0.3)
        with zero.send(message(1, {"devices": [device(3)]})) as second:
            check(is_closed(second), "a second node 1 is refused")
        first.sendall(message(2, {"devices": []}))
        check(is_closed(first, b"A"), "node 1 says that it is node 2")
        with zero.send(message(2, {"devices": []})):
            out, err = zero.end()
    check("on 1 devices of 3 nodes" in out and "did not answer" not in err, "the report", out + err)


def other_nodes_do_not_write_to_the_terminal():
    """Control characters, and what would be cut within a character, are in no report of t3's."""
    for text in ("\x1b[31m", "\x07", "\x9b31m", "x" * 31 + "\xe9"):
        for document in ({"error": text}, {"devices": [device(1, {**space(1, "ARMING"), "process": text})]},
                         {"devices": [device(1, space(1, "ARMING", {"record": "fault", "kind": 1}),
                                             space(2, "FAULTED", {**route(1, 2), "more": [text]}))]}):
            zero = Zero()
            with zero.send(message(1, document)), zero.send(message(2, {"devices": []})):
                out, err = zero.end()
            check("node 1 has no status: its report is malformed" in err, "the error", f"{document}: {err!r}")
            check(text not in out + err, "the text", f"{out!r} {err!r}")


def malformed_reports_are_errors_of_their_node():
    for document in ({}, [], {"devices": 5}, {"devices": [5]}, {"devices": [device(32)]},
                     {"devices": [device(-1)]}, {"devices": [{**device(1), "spaces": {}}]},
                     {"devices": [device(1)] * 257}):
        zero = Zero()
        with zero.send(message(1, document)), zero.send(message(2, {"devices": []})):
            _, err = zero.end()
        check("node 1 has no status: its report is malformed" in err, "the error", f"{document}: {err}")
    zero = Zero()
    odd = device(1, space(1, "ARMING", 5, {"record": "route"}), 5, {"space": "x", "state": "FAULTED"})
    odd["tiles"], odd["queues"] = [7, {"parts": 5}], [None, {"jobs": 3, "parts": {}}]
    with zero.send(message(1, {"devices": [odd]})), zero.send(message(2, {"devices": []})):
        out, err = zero.end()
    check("node 1 rank 1 space 1" in out and "malformed" not in err, "odd records", out + err)


def other_nodes_do_not_wait_for_ever():
    for variables, why in (({}, "node 0 does not answer at 127.0.0.1:"),
                           ({"MASTER_PORT": "65535"}, "does not answer"),
                           ({"MASTER_PORT": "x"}, "does not answer"),
                           ({"T3_NODE": "3"}, "--nodes is for a node of a cluster")):
        done = subprocess.run([BUILD / "t3", "status", "--nodes", "--wait", "0.2"], capture_output=True,
                              text=True, timeout=60, env={**environ(free_port(), 1), **variables},
                              check=False)
        check(done.returncode == 1 and why in done.stderr, why, done.stderr)


TESTS = [who_does_not_answer_is_named, one_report_looks_across_nodes, json_has_each_node,
         wrong_nodes_are_ignored, a_node_cannot_be_another_one, malformed_reports_are_errors_of_their_node,
         other_nodes_do_not_write_to_the_terminal, other_nodes_do_not_wait_for_ever]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
