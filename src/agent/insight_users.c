/* SPDX-License-Identifier: Apache-2.0 */
/* insight_users.c - what the user's own rules say while the run lives. See insight_internal.h. */
#include <stdlib.h>
#include <string.h>

#include "agent/insight_internal.h"
#include "base/mem.h"

bool rule_seen_differs(const struct rule_seen *a, const struct rule_seen *b)
{
    return a->state != b->state || (a->state == RULE_ISSUE && a->severity != b->severity);
}

static struct rule_seen *insight_users_seen_of(struct user_rules *u, const char *name)
{
    for (size_t i = 0; i < u->n; i++)
        if (strcmp(u->v[i].name, name) == 0)
            return &u->v[i].seen;
    u->v = xrealloc(u->v, u->n + 1, sizeof *u->v);
    u->v[u->n] = (struct seen_user_rule){xstrdup(name), {.state = RULE_NOT_EVALUATED}};
    return &u->v[u->n++].seen;
}

static void tell_new(struct user_rules *u, const struct insight_ask *ask, const struct hosted *h)
{
    struct rule_seen *seen = insight_users_seen_of(u, h->v.rule->name);
    const struct rule_seen before = *seen;
    *seen = (struct rule_seen){h->v.state, h->v.severity};
    if (rule_seen_differs(&before, seen))
        ask->changed(ask->ctx, &h->v, h->p, &before);
}

void user_rules_hear(struct user_rules *u, const struct insight_ask *ask, int64_t wait_ns)
{
    struct arena a = {0};
    struct hosted *v;
    struct err e;
    size_t n;
    if (ownrules_hear(ask->own, wait_ns, &a, &v, &n, &e) != 0)
        ask->failed(ask->ctx, e.msg);
    if (n == 0) {
        arena_free(&a);
        return;
    }
    arena_free(&u->arena);
    u->arena = a;
    u->said = v;
    u->n_said = n;
    for (size_t i = 0; i < n; i++)
        tell_new(u, ask, &v[i]);
}

void user_rules_free(struct user_rules *u)
{
    for (size_t i = 0; i < u->n; i++)
        free(u->v[i].name);
    free(u->v);
    arena_free(&u->arena);
}
