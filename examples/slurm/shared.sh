#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# shared.sh - one recorder per node, all of them in a folder that every node sees:
#
#     sbatch examples/slurm/shared.sh train.py --epochs 3
#
# The nodes become one run. A requeued job continues the run of its first start.
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --requeue
set -euo pipefail

export FOOTPLATE_DIR=${FOOTPLATE_DIR:-$HOME/footplate-runs}
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

srun --kill-on-bad-exit=1 footplate run -- \
    torchrun --nnodes "$SLURM_NNODES" --nproc-per-node "${SLURM_GPUS_ON_NODE:-1}" \
    --rdzv-id "$SLURM_JOB_ID" --rdzv-backend c10d --rdzv-endpoint "$first:29500" "$@"
