#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# trial.sh - the trial: planted problems on a quiet and on a busy machine, healthy runs, and sick
# models (health_trial.py). The machine must have nothing else to do. Options are those of
# tests/trial/trial.py, which alone takes about 30 minutes. Without options also the loops that kill
# and cut what sends and receives runs (ship_trial.sh): an hour or more.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test-all
scripts/build.sh
mkdir -p build/trial
status=0
.venv/bin/python tests/trial/trial.py --json build/trial/trial.json "$@" || status=1
[ $# = 0 ] || exit $status

# Sick and healthy models: what is said of their losses, gradients and weights.
.venv/bin/python tests/trial/health_trial.py || status=1

# The long forms of what CI does five times: a shipper that is killed, and a network that is cut.
export FOOTPLATE_BIN=$PWD/build/footplate
FOOTPLATE_ROUNDS=100 .venv/bin/python -m pytest -q --timeout 1200 tests/remote/test_living.py -k killed || status=1
FOOTPLATE_ROUNDS=50 .venv/bin/python -m pytest -q --timeout 1200 tests/remote/test_living.py -k cut || status=1
FOOTPLATE_S3_SERVER=swift FOOTPLATE_ROUNDS=100 .venv/bin/python -m pytest -q --timeout 1200 tests/remote/test_living.py -k killed || status=1
scripts/ship_trial.sh || status=1
exit $status
