#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh - records a small training program twice, once as it is and once with a slow input
# pipeline. The second run ends with the finding. Needs no terminal; prints at most 40 lines.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build
scripts/build.sh

# Shows a command, then runs it.
try() {
    printf '$ %s\n' "$*"
    "$@"
}

footplate=build/footplate
train=build/release/examples/c/train

printf '\n== A network learns to read digits. Footplate records the machine and the steps.\n'
try $footplate run --name demo --no-report --interval 100ms -- $train --quiet --seconds 4

printf '\n== The same program with slow storage. Footplate names the cause.\n'
try $footplate run --name demo-slow --interval 100ms -- $train --quiet --seconds 4 --slow-input

mapfile -t newest < <($footplate ls --names --limit 2)
cat <<END

== Next
  $footplate serve                      open the dashboard of both runs at the address that it prints
  $footplate check last                 the findings in full
  $footplate compare ${newest[1]} ${newest[0]}
  $footplate run -- python3 train.py    record your own program
END
