"""What runs in a process that helps to train: it takes its share of whatever is handed out."""

from __future__ import annotations

import json
import sys
from datetime import timedelta

from torch.distributed import TCPStore  # type: ignore[attr-defined]

from domindex.vdi.helpers import HOST
from domindex.vdi.places import Places
from domindex.vdi.processes import Processes
from domindex.vdi.settings import Training
from domindex.vdi.threads import one_thread

MEETING = timedelta(seconds=60)
"""For finding the process that started this one, on the same machine."""


def main() -> None:
    task = json.loads(sys.argv[1])
    places = Places(Training(**task["training"]), task["n"], is_launched=False)
    store = TCPStore(HOST, task["port"], is_master=False, timeout=MEETING)
    processes = Processes(store, task["rank"], task["n"], places.backend)
    with one_thread():
        processes.serve(places.fabric(task["rank"]))
    processes.close(in_order=True)
