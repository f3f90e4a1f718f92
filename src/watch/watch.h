/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - the program of the recorder's helper process (agent/helper.h).
 *
 * Now and then it evaluates all rules over the files of the run, as `check` and the server do. A
 * rule whose result changes becomes a line, a mark and, where the user wants it, an action. It also
 * converts detail windows. It never writes into a file of the recorder: what the recorder should
 * write, print or do is a message to it. */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include "agent/helper.h"
#include "query/run.h"
#include "rules/params.h"
#include "rules/verdict_json.h"
#include "store/writer.h"
#include "watch/action.h"

struct watch_ask {
    bool no_rules; /* only detail windows are converted */
    struct rule_params params;
    int64_t scan_ns; /* between two evaluations; 0: SCAN_NS */
    const struct action *actions;
    size_t n_actions;
    /* Evaluates the rules of the user over the run; NULL: there are none. */
    int (*check_user_rules)(void *ctx, struct run *r, struct arena *a, struct hosted **out,
                            size_t *n, struct err *e);
    void *user_rules;
};

#define SCAN_NS (60 * NS_PER_S)

/* As struct helper_program wants it; `ctx` is a struct watch_ask. Returns when the recorder ends.
 */
void watch_main(const struct helper_task *t, void *ctx);

/* When the next evaluation is due, in ns after the last one began. An evaluation may take a
 * thousandth of a core at the usual interval: when it needs more, the interval grows with it. */
int64_t watch_interval(int64_t scan_ns, double cpu_s);

/* ---- details.c: what the hooks leave beside the rings becomes files of the node ----
 *
 * Saved tensors (tensors-RANK-STEP-PID-K.npz) are moved there as they are.
 *
 * A detail window ends as detail-PID-K.json (a trace of the framework's profiler) or
 * python-PID-K.json (a profile of functions) in the folder of the rings. A thread of the lowest
 * priority turns each into trace-PID-K.fp or trace-PID-python-K.fp and removes it. One that cannot
 * be read is a loss, and is removed too: no file is left. */

struct details;

struct details_ask {
    const char *rings;   /* the folder that the windows come to */
    const char *node;    /* the folder of the node, which the files go to */
    unsigned session;    /* of the node's writer */
    struct sink *losses; /* gets what could not be converted */
};

/* What the request points to stays the caller's. The thread starts with the first file. */
struct details *details_open(const struct details_ask *ask);
/* Something new lies in the folder. From any one thread. */
void details_look(struct details *d);
/* Takes what is there still, waits for the thread and frees. NULL is fine. */
void details_close(struct details *d);

#endif
