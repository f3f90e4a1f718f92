/* SPDX-License-Identifier: Apache-2.0 */
/* import_node.h - one machine of an imported run: rows go to its metrics file, all else to its
 * events file. */
#ifndef CMD_IMPORT_NODE_H
#define CMD_IMPORT_NODE_H

#include "import/import_pids.h"
#include "import/import_rows.h"
#include "import/importer.h"
#include "run/run_maker.h"

/* Of what does not say on which machine it was. */
#define IMPORT_NODE_DEFAULT "trace"

struct import_node {
    struct sink_pass pass;       /* to the events file; first: the sink is the node */
    struct run_maker_node *made; /* its files */
    struct import_rows rows;
    struct import_pids pids;  /* what traces are told to; ends in `pass` */
    bool told;                /* anything at all */
    mono_ns first, last;      /* of that */
    int64_t rank, world_size; /* -1: not told, or there are several */
    unsigned traces;          /* files that told of a rank */
    int64_t interval_ns;      /* between rows, once it is closed; 0: there are none */
    unsigned cores, gpus;     /* seen or said, once it is closed */
    struct import_machine said;
};

/* A node of the run; the times of its files are on the clock of `tie`. */
MUST_CHECK int import_node_open(struct import_node **out, struct run_maker *run, const char *id,
                                struct clock_tie tie, struct err *e);
/* What a file of this node gave. */
void import_node_note(struct import_node *d, const struct import_result *r);
/* What the input says of this machine. */
void import_node_machine(struct import_node *d, const struct import_machine *m);
/* All rows are told; its files can be closed. */
void import_node_close(struct import_node *d);
/* Writes node.json. `wall_minus_mono_ns` is what the traces' times were taken off by. */
MUST_CHECK int import_node_describe(const struct import_node *d, const struct rundir *run,
                                    int64_t wall_minus_mono_ns, struct err *e);
void import_node_free(struct import_node *d); /* NULL is fine */

#endif
