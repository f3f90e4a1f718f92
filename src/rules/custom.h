/* SPDX-License-Identifier: Apache-2.0 */
/* custom.h - rules that users write as a few lines of configuration: a metric, how its samples are
 * taken together, a limit, and for how long it must be passed.
 *
 *     name: GpuIdle, metric: gpu.util, aggregate: mean, window: 60s, below: 20, for: 5min
 *
 * They are evaluated over a run: each series separately, in consecutive windows from its first
 * sample. Windows that pass the limit without a break for long enough are a finding. While the run
 * grows, only windows that may still change are read again. */
#ifndef RULES_CUSTOM_H
#define RULES_CUSTOM_H

#include "query/run.h"
#include "rules/rule.h"

enum { CUSTOM_MOST = 64 };

enum aggregate { AGGREGATE_MEAN, AGGREGATE_MAX, AGGREGATE_MIN, AGGREGATE_P95, AGGREGATE_N };

struct custom_rule {
    const char *name;
    const char *metric;
    const char *entity; /* NULL: each */
    enum aggregate aggregate;
    int64_t window_ns, for_ns;
    double above, below; /* NAN: not set; one of them is */
    enum severity severity;
    const char *message, *recommendation; /* NULL: not set */
};

/* Nothing set yet. */
struct custom_rule custom_rule_new(void);
/* One of its values, as it was written; the text must live as long as the rule. ERR_USAGE names
 * what is wrong, and the keys there are. */
MUST_CHECK int custom_rule_set(struct custom_rule *c, const char *key, const char *value,
                               struct err *e);
/* Once all are set: whether the rule is complete. */
MUST_CHECK int custom_rule_done(const struct custom_rule *c, struct err *e);
/* What one rule made of the windows of a run that grows, as far as nothing can be added to them. A
 * zeroed one is ready. It is for one rule and one run; the result is the same to the last byte. */
struct custom_memory {
    struct custom_series *v;
    size_t n, cap;
};

void custom_memory_free(struct custom_memory *m);

/* Everything in the verdict, with its rule, lives in the arena. `m` NULL: once. */
MUST_CHECK int custom_rule_check(const struct custom_rule *c, struct custom_memory *m,
                                 struct run *r, struct arena *a, struct verdict *out,
                                 struct err *e);

/* A rule that is only a name and words; for verdicts of rules that are not in rules.def. */
struct verdict custom_verdict(const char *name, const char *description, const char *recommendation,
                              struct arena *a);

#endif
