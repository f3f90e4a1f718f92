/* SPDX-License-Identifier: Apache-2.0 */
/* compare_findings.c - what rules found on one side, on the other, on both.
 *
 * In a group, a rule counts as found when it is in more than half of the runs that it could judge,
 * and as not judged when it could judge none. */
#include <math.h>

#include "base/arena.h"
#include "compare/compare_internal.h"
#include "rules/rule.h"

const char *const finding_change_names[FINDING_CHANGES] = {
    [FINDING_APPEARED] = "appeared",
    [FINDING_WENT] = "went",
    [FINDING_STAYED] = "stayed",
    [FINDING_UNKNOWN] = "unknown",
};

struct opinion {
    size_t judged, found;
    enum severity severity; /* the worst */
    double lost_s, lost_share;
    const char *message, *why;
};

static void add_verdict(struct opinion *o, const struct verdict *v)
{
    if (v->state == RULE_NOT_EVALUATED) {
        o->why = v->why;
        return;
    }
    o->judged++;
    if (v->state != RULE_ISSUE)
        return;
    if (o->found++ == 0) {
        o->lost_s = o->lost_share = 0;
        o->severity = v->severity;
    }
    if (v->severity > o->severity)
        o->severity = v->severity;
    if (!o->message && v->n_findings)
        o->message = v->findings[0].message;
    o->lost_s += v->lost_s;
    o->lost_share += v->lost_share;
}

static struct opinion opinion_of(const struct side_reading *s, size_t rule)
{
    struct opinion o = {.lost_s = NAN, .lost_share = NAN};
    for (size_t i = 0; i < s->n; i++)
        add_verdict(&o, &s->v[i].checked.verdicts.v[rule]);
    o.lost_s /= (double)o.found; /* NAN when there is none */
    o.lost_share /= (double)o.found;
    return o;
}

static bool is_found(const struct opinion *o)
{
    return 2 * o->found > o->judged;
}

static bool change_of(const struct opinion v[COMPARE_SIDES], enum finding_change *out)
{
    const bool a = is_found(&v[COMPARE_A]), b = is_found(&v[COMPARE_B]);
    const bool unknown = v[COMPARE_A].judged == 0 || v[COMPARE_B].judged == 0;
    *out = unknown  ? FINDING_UNKNOWN
           : a && b ? FINDING_STAYED
           : a      ? FINDING_WENT
                    : FINDING_APPEARED;
    return a || b;
}

static void fill_finding(struct comparing *c, size_t rule, const struct opinion v[COMPARE_SIDES],
                         struct compared_finding *out)
{
    out->rule = rules[rule];
    for (int s = 0; s < COMPARE_SIDES; s++) {
        out->severity[s] = v[s].severity;
        out->runs[s] = v[s].found;
        out->message[s] = v[s].message ? arena_strdup(c->arena, v[s].message) : NULL;
        out->lost_s[s] = v[s].lost_s;
        out->lost_share[s] = v[s].lost_share;
        if (v[s].judged == 0)
            out->why = arena_strdup(c->arena, v[s].why ? v[s].why : "");
    }
}

void compare_findings(struct comparing *c)
{
    struct compared *o = c->out;
    struct opinion v[RULE_N][COMPARE_SIDES];
    o->findings = arena_array(c->arena, struct compared_finding, RULE_N);
    for (size_t k = 0; k < RULE_N; k++)
        for (int s = 0; s < COMPARE_SIDES; s++) {
            v[k][s] = opinion_of(&c->side[s], k);
            o->rules_judged[s] += v[k][s].judged > 0 && !rules[k]->summary;
        }
    for (enum finding_change want = 0; want < FINDING_CHANGES; want++)
        for (size_t k = 0; k < RULE_N; k++) {
            enum finding_change change;
            if (rules[k]->summary || !change_of(v[k], &change) || change != want)
                continue;
            struct compared_finding *f = &o->findings[o->n_findings++];
            f->change = change;
            fill_finding(c, k, v[k], f);
        }
}
