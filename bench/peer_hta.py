# SPDX-License-Identifier: Apache-2.0
"""peer_hta.py FILE: HolisticTraceAnalysis loads a trace. Prints JSON."""

from __future__ import annotations

import json
import logging
import sys
import time

logging.disable(logging.CRITICAL)

from hta.common.trace_parser import parse_trace_dataframe  # noqa: E402
from hta.configs.parser_config import ParserConfig  # noqa: E402


def main() -> None:
    begin = time.process_time()
    _, frame, _ = parse_trace_dataframe(sys.argv[1], ParserConfig.get_default_cfg())
    print(json.dumps({"s": time.process_time() - begin, "events": len(frame)}))


main()
