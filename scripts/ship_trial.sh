#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ship_trial.sh - the long form of the kill loops of tests/fault/test_ship.py: 50 kills of the hub, 50
# cuts of the network, 100 kills of the process that sends. After each loop the run on the hub equals
# the local one byte for byte, and a reader beside it never saw a broken run. 9 minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh
export FOOTPLATE_BIN=$PWD/build/release/src/cmd/footplate
export FOOTPLATE_TRAIN=$PWD/build/release/examples/c/train
loop() { # ROUNDS TEST
    FOOTPLATE_SHIP_ROUNDS=$1 .venv/bin/python -m pytest -q --timeout 1200 tests/fault/test_ship.py -k "$2"
}
loop 50 killed_hub_is_found_again
loop 50 cut_network_costs_nothing
loop 100 killed_shipper_goes_on
