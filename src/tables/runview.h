/* SPDX-License-Identifier: Apache-2.0 */
/* runview.h - facts about a run that every command, the report and the server show: its nodes over
 * all their sessions, its cost, its losses. */
#ifndef TABLES_RUNVIEW_H
#define TABLES_RUNVIEW_H

#include "base/arena.h"
#include "base/row_table.h"
#include "query/run.h"
#include "record/record.h"

/* Finds RUN in the folder of runs and opens it. dir: the value of --dir, may be NULL. */
MUST_CHECK int runview_open(struct run **out, const char *dir, const char *ref, struct err *e);

/* One node, all its sessions. */
struct node_view {
    const struct node_info *last;  /* the latest session: what the node is now */
    const struct node_info *first; /* the sessions follow each other in memory */
    size_t sessions;
};

size_t runview_nodes(const struct run_info *info, struct arena *a, struct node_view **out);
size_t runview_count_nodes(const struct run_info *info);
size_t runview_gpus(const struct run_info *info); /* of all nodes */
double runview_duration_s(const struct run_info *info);
/* A sentence begins with a capital and ends with a stop. */
const char *sentence(struct arena *a, const char *text);
/* "The job failed with exit status 3 after 7.9 s."; NULL: it ended well, or has not ended. */
const char *runview_ending(const struct run_info *info, struct arena *a);
/* Footplate was attached to the job, at every node. */
bool runview_attached(const struct run_info *info);
/* CPU seconds of all recorders; NAN when one of them is not known. */
double runview_self_cpu_s(const struct run_info *info);
/* "1.20 s of CPU (0.09 % of one core)", or why it is not known. */
const char *runview_cost_text(const struct run_info *info, struct arena *a);
/* The same of the bytes they wrote. */
double runview_bytes_written(const struct run_info *info);
/* The sampling interval in ns; of several, the shortest. */
int64_t runview_interval_ns(const struct run_info *info);
/* The command as one would type it, words quoted where a shell needs it. */
const char *runview_command(const struct run_info *info, struct arena *a);

/* A run as a row of a table; see RunBase in run_rows.def. */
struct run_row {
    const struct run_info *info;
    struct node_view *nodes;
    size_t n_nodes;
    size_t n_words; /* of the command */
    int64_t interval_ns;
};

struct run_row *run_row_of(const struct run_info *info, struct arena *a);
/* Keys shared by `ls` and `show`: name, id, status, command, nodes, times, exit status. */
void runview_json(struct jw *j, const struct run_info *info, struct arena *a);

/* The losses of a run, to answer "why is this not there?" */
struct loss_list {
    struct run_loss *v;
    size_t n;
    const struct run_info *info;
    struct arena *arena; /* that the list is in */
};

MUST_CHECK int loss_list_read(struct loss_list *out, struct run *r, struct arena *a, struct err *e);
/* Why the node has no values of the metric: never NULL. `what` gets what the reason is about. */
const char *loss_list_why(const struct loss_list *l, const char *node, const char *metric,
                          const char **what);

/* Events of the job that were lost: as each recorder counted at its end, otherwise as
 * reported so far. */
int64_t runview_events_dropped(const struct run_info *info, const struct loss_list *l);

/* ---- losses as texts: metrics and probes by their titles ---- */

/* "gpu0 gpu.energy" is "gpu0: energy used", "nvml_slow" is "NVIDIA GPU energy, PCIe and NVLink
 * metrics"; other names stay. */
const char *loss_what_words(const struct loss *l, struct arena *a);
/* NULL: there is no such probe. */
const char *probe_words(const char *probe);
/* The machine or the job has no such thing, so nothing is missing: swap, limits of a cgroup. */
bool loss_is_no_news(const struct loss *l);

#endif
