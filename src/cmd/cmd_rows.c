/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_rows.c - see cmd_rows.h. */
#include "cmd/cmd_rows.h"

#include <math.h>

#include "query/eventsum.h"
#include "record/record.h"
#include "tables/runview.h"

const char *const metric_per_names[] = {
    [PER_NODE] = "node",
    [PER_CORE] = "core",
    [PER_DISK] = "disk",
    [PER_NIC] = "interface",
    [PER_PROCESS] = "process",
    [PER_JOB] = "job",
    [PER_CGROUP] = "control group",
    [PER_GPU] = "GPU",
    [PER_SELF] = "Footplate",
};

const char *const metric_kind_names[] = {[KIND_GAUGE] = "gauge", [KIND_RATE] = "rate"};

#define ROWS_FILE "cmd/cmd_rows.def"
#include "base/row_expand.h"
