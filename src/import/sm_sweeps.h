/* SPDX-License-Identifier: Apache-2.0 */
/* sm_sweeps.h - readings of one machine, gathered into rows.
 *
 * The agent that wrote them reads all its devices in one sweep, by several threads, so that the
 * times of a sweep lie a few milliseconds apart and its lines may come in any order. A reading
 * within SWEEP_NS of the first one of a sweep belongs to it. A few sweeps stay open; the oldest is
 * told when there are more. */
#ifndef IMPORT_SM_SWEEPS_H
#define IMPORT_SM_SWEEPS_H

#include "import/importer.h"
#include "import/sm_line.h"
#include "record/group.h"

enum { SWEEPS_OPEN = 4, SM_SERIES_MOST = 4096 };

#define SWEEP_NS (20 * NS_PER_MS)

struct sm_series {
    struct sm_text type, name, dimension; /* its own copies */
    uint64_t hash;
    slot_id slot; /* SLOT_NONE: no metric of ours */
    double scale; /* what the value is multiplied by to be a cell */
    double most;  /* the largest cell */
};

struct sm_sweep {
    int64_t at; /* of its first reading, wall time */
    uint32_t n; /* cells that it has room for */
    int64_t *cells;
};

/* The mean of all devices of a metric. */
struct sm_total {
    slot_id slot;
    uint32_t members;
    uint32_t n; /* of them in the row at hand */
    double sum;
};

enum { SM_TOTALS = 2 }; /* metrics that have one */

struct sm_sweeps {
    struct sink *sink;
    struct import_result *result;
    int64_t wall_minus_mono_ns;
    struct group group;
    bool begun;   /* a row was told */
    int64_t last; /* time of that row */

    struct sm_series *series;
    uint32_t n_series, cap_series;
    uint32_t *table; /* 1 + index, by hash */
    uint32_t cap_table;

    struct sm_total totals[SM_TOTALS];
    uint32_t n_totals;
    uint8_t member[SM_SERIES_MOST + SM_TOTALS]; /* per slot: 1 + its total; 0: none */

    struct sm_sweep open[SWEEPS_OPEN]; /* in order of time; all have cells of their own */
    uint32_t n_open, now;              /* the one that the last reading went to */
};

void sm_sweeps_open(struct sm_sweeps *s, const struct import_ask *ask, struct sink *sink,
                    struct import_result *result);
/* A line that has a value and a time. */
void sm_sweeps_take(struct sm_sweeps *s, const struct sm_line *l);
/* Tells what is open, and frees. */
void sm_sweeps_close(struct sm_sweeps *s);

#endif
