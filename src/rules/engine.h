/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - all rules over what is seen of a run, part by part.
 *
 *     struct engine *g = engine_open(&params);
 *     size_t node = engine_node(g, &facts);
 *     engine_sweeps(g, node, &batch); engine_steps(...); engine_events(...);   as they come
 *     engine_judge(g, &run, &arena, &verdicts);                              any time, any number
 *
 * Sweeps before the first step that is no warm-up, and after the last, do not count. Where the loop
 * begins and ends is known before anything is fed, from the steps in the files (feed_run.c).
 *
 * Engines with the same parameters and the same window that saw different nodes can be merged. */
#ifndef RULES_ENGINE_H
#define RULES_ENGINE_H

#include "rules/rule.h"

struct engine;

/* `params` is copied. */
struct engine *engine_open(const struct rule_params *params);
void engine_close(struct engine *g); /* NULL is fine */

/* The number of the node with that id, made when it is new. Texts are copied. */
size_t engine_node(struct engine *g, const struct node_facts *facts);
/* When the loop had its usual pace and when it ended; before anything is fed. Sweeps count from
 * there. 0: no steps; an open end. */
void engine_window(struct engine *g, wall_ns steady_start, wall_ns loop_end);
/* Sweeps of the node in these times do not count, except for rules about the whole job: our own
 * detail windows slow the program down. Before sweeps are fed. */
void engine_leave_out(struct engine *g, size_t node, const struct time_range *v, size_t n);
void engine_sweeps(struct engine *g, size_t node, const struct sweeps *s);
/* Whole steps of one rank, in order. */
void engine_steps(struct engine *g, size_t node, const struct rule_rank *r, const struct step *v,
                  size_t n);
void engine_events(struct engine *g, size_t node, const struct rule_event *v, size_t n);
/* What is known of the training health of the node; the engine closes it. NULL: nothing. */
void engine_health(struct engine *g, size_t node, struct health_book *b);
/* Takes the nodes of `from`, which this one has not; `from` is empty afterwards. */
void engine_merge(struct engine *g, struct engine *from);

/* ---- what was fed before, of one node ----
 *
 * Both engines have the same node and no other. */

/* Whether sweeps before `until` that `p` was fed count in `g` as they did in `p`. */
bool engine_agrees(const struct engine *p, const struct engine *g, wall_ns until);
/* `p` gets the facts, the window and the left-out times of `g`; its states do not change. */
void engine_align(struct engine *p, const struct engine *g);
/* `g`, which was fed nothing, gets a copy of the states of `p`. */
void engine_copy_states(struct engine *g, const struct engine *p);

struct verdicts {
    struct verdict v[RULE_N]; /* by enum rule_id */
};

/* Sizes, severities and links filled in. Deterministic: nodes by name, findings by node, entity and
 * time. */
void engine_judge(struct engine *g, const struct run_facts *run, struct arena *a,
                  struct verdicts *out);

#endif
