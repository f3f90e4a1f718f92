#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh - records a small training program twice, once as it is and once with a slow input
# pipeline, and shows what was recorded. Needs no terminal and ends by itself.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build
scripts/build.sh

footplate=build/footplate
train=build/release/examples/c/train

title() {
    printf '\n== %s\n' "$*"
}

# Shows a command, then runs it.
try() {
    printf '\n$ %s\n' "$*"
    "$@"
}

title "A network learns to read digits; Footplate records the machine and the steps meanwhile"
try $footplate run --name demo --interval 100ms -- $train --seconds 4

title "The same, with data that comes slowly: look at DATA in the steps, and at the CPU"
try $footplate run --name demo-slow --interval 100ms -- $train --seconds 4 --slow-input

title "What was recorded of the second run"
try $footplate show last
try $footplate steps last --last 3
try $footplate check last
try $footplate stats last
try $footplate query last --metric cpu.util --points 200

title "What the slow input cost"
mapfile -t newest < <($footplate ls --names --limit 2)
try $footplate compare "${newest[1]}" "${newest[0]}"

title "The report, one file for a browser or a colleague"
try $footplate report last

cat <<'END'

Both runs are in footplate-runs/, one folder each; such a folder can be copied and opened anywhere.
The dashboard of all runs, live and finished: build/footplate serve, then open the address it prints.
Next, try:
  build/footplate ls                        the runs so far
  build/footplate run -- python3 train.py   record a program of your own
  build/footplate doctor                    what can be measured on this machine
END
