# SPDX-License-Identifier: Apache-2.0
"""health_ranks.py FOLDER DAMAGE: two ranks of the scene p14; each writes its word sums, by tensor
and step, and which statistics it took, to FOLDER/RANK.json."""

import json
import os
import subprocess
import sys
from pathlib import Path

if "RANK" in os.environ:
    import torch

    torch.set_num_threads(1)
    import health_scenes
    from health_kit import Told

    told = Told.listen()
    health_scenes.rank_of_p14(0, sys.argv[2])
    out = Path(sys.argv[1]) / f"{os.environ['RANK']}.json"
    sums = told.tensor("weight.sum")
    out.write_text(json.dumps({"sums": sums, "gradients": len(told.tensor("gradient.l2"))}))
else:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen([sys.executable, *sys.argv], env=env | {"RANK": str(rank)})
        for rank in range(2)
    ]
    sys.exit(max(rank.wait() for rank in ranks))
