#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hub.sh - one recorder per node, each in a folder of its own, which is sent to a hub or a bucket:
#
#     export FOOTPLATE_TOKEN=...           # a write token of the hub; sbatch passes it on
#     sbatch examples/slurm/hub.sh https://hub.example.org train.py --epochs 3
#
# For a bucket give s3://BUCKET/PREFIX instead; the credentials are those of the AWS tools.
# Slurm gives the job 30 s after SIGTERM (KillWait), in which the rest is sent.
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
set -euo pipefail

to=$1
shift
export FOOTPLATE_DIR=${TMPDIR:-/tmp}/footplate-$SLURM_JOB_ID
# Of a requeued job each start is a run: its nodes have empty folders, and may be other nodes.
export FOOTPLATE_RUN=train-${SLURM_CLUSTER_NAME:-slurm}-$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

srun --kill-on-bad-exit=1 footplate run --to "$to" -- \
    torchrun --nnodes "$SLURM_NNODES" --nproc-per-node "${SLURM_GPUS_ON_NODE:-1}" \
    --rdzv-id "$SLURM_JOB_ID" --rdzv-backend c10d --rdzv-endpoint "$first:29500" "$@"
