#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# trial.sh - the trial: planted problems on a quiet and on a busy machine, and healthy runs. The
# machine must have nothing else to do. Options are those of tests/trial/trial.py.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test-all
scripts/build.sh
mkdir -p build/trial
exec .venv/bin/python tests/trial/trial.py --json build/trial/trial.json "$@"
