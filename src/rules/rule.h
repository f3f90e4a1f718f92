/* SPDX-License-Identifier: Apache-2.0 */
/* rule.h - a rule: one const record, and one line in rules.def. Rules about one subject share a
 * file.
 *
 * A rule has one state per node. The engine feeds it that node's sweeps, steps and events,
 * each in order of time and in parts of any size. A state depends on what was seen alone, not on
 * how it was cut or on which of the three came first: counts and whole numbers, no floating sums.
 * When verdicts are requested, the rule judges all its states together.
 *
 * Sweeps before the training loop has its usual pace, or while the rule is still patient, those
 * after the loop and those of our own detail windows do not reach a rule, unless it sets
 * .whole_job. Steps all do: step_is_steady decides which of them a rule about the loop counts. */
#ifndef RULES_RULE_H
#define RULES_RULE_H

#include "rules/params.h"
#include "rules/rule_input.h"
#include "rules/state.h"
#include "rules/verdict.h"

/* Of a step and what follows it until the next. */
static inline struct time_range step_time(const struct step *s)
{
    const int64_t between = s->between_ns > 0 ? s->between_ns : 0;
    return (struct time_range){s->start, {s->start.ns + s->dur_ns + between}};
}

#define RULE(id) RULE_##id,
enum rule_id {
#include "rules/rules.def"
    RULE_N
};
#undef RULE

/* What a rule cannot do without; when it is missing everywhere, the engine answers "not evaluated"
 * itself. Bits. */
enum rule_needs {
    NEEDS_SWEEPS = 1,
    NEEDS_GPU = 2,   /* at least one GPU with utilization */
    NEEDS_STEPS = 4, /* at least one step */
};

struct rule_view {
    const struct param_value *p;   /* by the index of the rule's params */
    const struct state_spec *spec; /* the rule's */
    const struct node_facts *node;
    wall_ns from; /* where its sweeps begin to count: what windows are measured from */
};

struct judged_node {
    const struct node_facts *facts;
    const void *state;
    wall_ns from;                     /* as in struct rule_view */
    uint64_t sweeps;                  /* that reached the rule */
    uint64_t before;                  /* that came too early for it */
    const struct health_book *health; /* query/health_book.h; NULL: none was recorded */
};

struct judge {
    const struct rule *rule;
    const struct param_value *p;
    const struct run_facts *run;
    const struct judged_node *nodes;
    size_t n_nodes;
    const struct verdict *others; /* by enum rule_id, of rules that are no summary; NULL unless this
                                     one is a summary */
    struct arena *arena;          /* for everything in the verdict */
};

enum { RULE_LABELS_MOST = 12 };

struct rule {
    const char *name;  /* "LowGPUUtilization" */
    const char *title; /* a neutral noun for people: "Low GPU utilization" */
    const char *description, *recommendation;
    const struct param *params;                       /* ends with an empty one; NULL: none */
    struct number_label labels[RULE_LABELS_MOST + 1]; /* of every number of its findings */
    unsigned needs;                                   /* enum rule_needs */
    bool whole_job;
    bool custom;                     /* not in rules.def: a user rule */
    bool summary;                    /* never an issue: it fills a table */
    bool ending;                     /* reports how the job ended; what it lost is not the loop's */
    bool by_phase;                   /* plots in which phases its findings were */
    bool health;                     /* about what the model learns, not about speed */
    enum severity severity;          /* of a health rule: nothing is lost that could be sized */
    const char *const *explained_by; /* names of rules, ends with NULL; NULL: none */
    bool
        estimates; /* what is lost is computed from readings (use, pressure, CPU time), not timed */
    const char *part; /* the part of a step that it is about; NULL: no single one */

    const struct state_spec *spec; /* see RULE_STATE in per_entity.h; or NULL */
    const void *family;            /* what makes it one of several that share `judge`; or NULL */
    size_t state_size;             /* states begin as zeros */
    void (*sweeps)(void *state, const struct rule_view *c, const struct sweeps *s);
    void (*steps)(void *state, const struct rule_view *c, const struct rule_rank *r,
                  const struct step *v, size_t n);
    void (*events)(void *state, const struct rule_view *c, const struct rule_event *v, size_t n);
    void (*memory)(void *state, enum state_op op); /* that it owns; NULL: none */
    /* Fills the verdict: nothing found means RULE_CLEAR. */
    void (*judge)(const struct judge *j, struct verdict *out);
};

/* A member of a rule's record: its parameters, each at the place that an enum of the rule gives. */
#define RULE_PARAMS(...)                                                                           \
    .params = (const struct param[])                                                               \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

#define RULE(id) extern const struct rule rule_##id;
#include "rules/rules.def"
#undef RULE

extern const struct rule *const rules[RULE_N];

/* NULL when there is none of that name. */
const struct rule *rule_find(const char *name);
/* The title of a rule, for sentences; of one that is not known the name itself. */
const char *rule_title(const char *name);
/* Of its parameters: for how long sweeps are left out at the start of a run without steps. NULL: it
 * has none, or is about the whole job. */
const struct param_value *rule_patience(const struct rule *r, const struct param_value *p);

/* What its lost_s comes from: "measured" or "estimated". NULL: not known, or nothing is lost. */
const char *finding_basis(const struct finding *f, const struct rule *r);

/* ---- names of SageMaker Debugger: rules_documented.c ---- */

enum { RULES_UNSUPPORTED = 11 };

/* The name that a rule of theirs has here, as far as it is about this parameter (NULL: about any);
 * other names as they are. */
const char *rule_of_documented(const char *name, const char *param);
/* Whether the rule takes this parameter and makes no use of it. */
bool rule_param_is_unused(const struct rule *r, const char *param);
/* The number of a documented rule that is not supported; RULES_UNSUPPORTED: it is none. */
size_t rule_unsupported(const char *name, size_t len);
/* That it was not evaluated. */
struct verdict rule_unsupported_verdict(size_t i, struct arena *a);

/* ERR_USAGE, with the rules there are and the one that may have been meant. */
int rule_unknown(const char *name, struct err *e);

#endif
