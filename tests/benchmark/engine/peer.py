"""The loop of engine_benchmark.cc in Python: the same pools, events, durability and data, in plain dictionaries.

Usage: peer.py --measure NAME --nodes N --folder DIR. Prints one number.
"""

import argparse
import bisect
import hashlib
import json
import os
import pathlib
import queue
import random
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor

SOURCE_BYTES = 1000
WORKERS = 8


def source_of(key):
    text = f"# {key}\n"
    while len(text) < SOURCE_BYTES:
        text += "x = jnp.dot(a, b)\n"
    return text


def content_hash(text):
    return hashlib.sha256("\n".join(line.rstrip() for line in text.splitlines()).encode()).hexdigest()


class MemoryJournal:
    def __init__(self):
        self.events = []

    def append(self, events):
        self.events.extend(events)


class SqliteJournal:
    def __init__(self, file):
        self.connection = sqlite3.connect(file, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.execute("CREATE TABLE IF NOT EXISTS event(sequence INTEGER PRIMARY KEY, json TEXT NOT NULL)")
        self.connection.execute("CREATE TABLE IF NOT EXISTS candidate(hash TEXT PRIMARY KEY, text TEXT NOT NULL)")

    def append(self, events):
        execute = self.connection.execute
        execute("BEGIN")
        for event in events:
            text = event.pop("text", None)
            if text is not None:
                execute("INSERT OR IGNORE INTO candidate VALUES(?, ?)", (event["candidate"], text))
            execute("INSERT INTO event VALUES(?, ?)", (event["sequence"], json.dumps(event)))
            if text is not None:
                event["text"] = text
        execute("COMMIT")

    def read(self):
        candidates = dict(self.connection.execute("SELECT hash, text FROM candidate"))
        for (text,) in self.connection.execute("SELECT json FROM event ORDER BY sequence"):
            event = json.loads(text)
            if event["kind"] == "node_added":
                event["text"] = candidates[event["candidate"]]
            yield event


class Graph:
    """What the engine keeps, as a fold over events."""

    def __init__(self):
        self.nodes = []
        self.by_hash = {}
        self.ranked = []
        self.orders = {}

    def apply(self, event):
        kind = event["kind"]
        if kind == "node_added":
            node = {"id": event["node"], "state": "pending", "parents": event["parents"], "children": [], "operator": event["operator"],
                    "text": event["text"], "hash": event["candidate"], "score": None, "evaluation": None, "settled_orders": 0}
            for parent in event["parents"]:
                self.nodes[parent]["children"].append(event["node"])
            self.nodes.append(node)
            self.by_hash[event["candidate"]] = event["node"]
        elif kind == "evaluation_dispatched":
            self.nodes[event["node"]]["state"] = "evaluating"
        elif kind == "evaluation_finished":
            node = self.nodes[event["node"]]
            node["evaluation"] = event["evaluation"]
            node["score"] = event["score"]
            node["state"] = "valid"
            bisect.insort(self.ranked, (-event["score"], event["node"]))
        elif kind == "decision_made":
            self.orders[event["decision"]] = event["parents"]
        elif kind == "order_settled":
            self.nodes[self.orders.pop(event["decision"])[0]]["settled_orders"] += 1


class Search:
    def __init__(self, journal, nodes):
        self.journal = journal
        self.limit = nodes
        self.graph = Graph()
        self.random = random.Random(1)
        self.finished = queue.SimpleQueue()
        self.group = []
        self.launches = []
        self.sequence = 0
        self.work = 0
        self.decision = 0
        self.promised = 0
        self.proposing = 0
        self.running = 0

    def emit(self, kind, **fields):
        self.sequence += 1
        event = {"sequence": self.sequence, "time": time.time(), "kind": kind, **fields}
        self.graph.apply(event)
        self.group.append(event)

    def propose(self, work, decision, parent):
        try:
            self.finished.put(("proposal", work, decision, parent, source_of(f"d{decision}/o0/s0")))
        except Exception as error:
            self.finished.put(("failure", work, decision, parent, str(error)))

    def evaluate(self, work, decision, node, hash_):
        seconds = 1e-3 * (1 + int(hash_[:6], 16) / 16777216.0)
        stages = [{"stage": stage, "status": "passed"} for stage in ("validate", "compile", "test", "measure")]
        evaluation = {"verdict": "correct", "stages": stages, "cases": [{"name": "only", "samples": [seconds]}]}
        self.finished.put(("evaluation", work, decision, node, evaluation))

    def dispatch_evaluation(self, node, decision):
        self.work += 1
        hash_ = self.graph.nodes[node]["hash"]
        key = hashlib.sha256(f"1\n{hash_}\nscore".encode()).hexdigest()
        self.emit("evaluation_dispatched", work=self.work, node=node, decision=decision, key=key)
        self.launches.append((self.evaluators, self.evaluate, self.work, decision, node, hash_))
        self.running += 1

    def add_node(self, text, parents, work, decision):
        hash_ = content_hash(text)
        if hash_ in self.graph.by_hash:
            self.emit("duplicate_detected", work=work, existing=self.graph.by_hash[hash_])
            return
        node = len(self.graph.nodes)
        self.emit("node_added", node=node, parents=parents, operator="fake", work=work, candidate=hash_, text=text)
        self.dispatch_evaluation(node, decision)

    def take(self, item):
        kind, work, decision, subject, result = item
        self.running -= 1
        if kind == "proposal":
            self.proposing -= 1
            self.emit("proposal_finished", work=work, settle="ok", cost={})
            self.add_node(result, [subject], work, decision)
            return
        baseline = self.graph.nodes[0]["evaluation"] or result
        score = baseline["cases"][0]["samples"][0] / result["cases"][0]["samples"][0]
        self.emit("evaluation_finished", work=work, node=subject, settle="ok", evaluation=result, score=score)
        if decision is not None:
            self.emit("order_settled", decision=decision, settle="ok", children=[subject])

    def decide(self):
        while self.graph.ranked and self.proposing < WORKERS and self.promised < self.limit:
            self.decision += 1
            self.promised += 1
            parent = self.random.choice(self.graph.ranked)[1]
            self.emit("decision_made", decision=self.decision, parents=[parent], why="drawn")
            self.work += 1
            self.emit("proposal_dispatched", work=self.work, decision=self.decision, parents=[parent])
            self.launches.append((self.proposers, self.propose, self.work, self.decision, parent))
            self.proposing += 1
            self.running += 1

    def commit(self):
        if self.group:
            self.journal.append(self.group)
            self.group = []
        for pool, function, *arguments in self.launches:
            pool.submit(function, *arguments)
        self.launches.clear()

    def run(self):
        with ThreadPoolExecutor(WORKERS) as self.proposers, ThreadPoolExecutor(WORKERS) as self.evaluators:
            self.emit("run_started", seed=1)
            self.promised = 1
            self.add_node(source_of("baseline"), [], None, None)
            self.commit()
            while self.running > 0:
                self.take(self.finished.get())
                while not self.finished.empty():
                    self.take(self.finished.get())
                self.decide()
                self.commit()


def resident_bytes():
    pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


def nodes_per_second(journal, nodes):
    search = Search(journal, nodes)
    start = time.monotonic()
    search.run()
    assert len(search.graph.nodes) == nodes, len(search.graph.nodes)
    return nodes / (time.monotonic() - start)


def measure(name, nodes, folder):
    if name == "nodes_per_s_memory":
        return nodes_per_second(MemoryJournal(), nodes)
    journal = SqliteJournal(folder / "peer.journal")
    if name == "nodes_per_s_journal":
        return nodes_per_second(journal, nodes)
    before = resident_bytes()
    start = time.monotonic()
    graph = Graph()
    for event in journal.read():
        graph.apply(event)
    seconds = time.monotonic() - start
    assert len(graph.nodes) == nodes, len(graph.nodes)
    if name == "resume_s":
        return seconds
    if name == "bytes_per_node":
        return (resident_bytes() - before) / nodes
    sys.exit(f"unknown measurement '{name}'")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--measure", required=True)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    print(measure(arguments.measure, arguments.nodes, arguments.folder))


if __name__ == "__main__":
    main()
