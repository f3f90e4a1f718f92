/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - see check.h. */
#include "cmd/check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/table.h"
#include "base/text.h"
#include "base/vec.h"
#include "config/settings.h"
#include "cost/machines.h"

/* ---- from the settings ---- */

/* One of SageMaker Debugger's that is not evaluated is listed when it is named. */
static void check_note_unsupported(struct check *c, const char *name, size_t len)
{
    const size_t i = rule_unsupported(name, len);
    if (i < RULES_UNSUPPORTED)
        c->unsupported[i] = true;
}

/* A parameter that no built-in rule has is for the rules in Python, if there are some. */
static int check_take_params(struct check *c, const struct settings *s, struct err *e)
{
    for (size_t i = 0; i < s->n_rule_settings; i++) {
        const struct rule_setting *r = &s->rule_settings[i];
        if (!user_rules_set(&c->user, r->text, c->arena) && rule_params_set(&c->params, r->text, e))
            return r->from.source == FROM_OPTION ? e->code : err_in(e, "%s", r->from.where);
        check_note_unsupported(c, r->text, strcspn(r->text, ".="));
    }
    return 0;
}

int check_open(struct check **out, const struct cmd_args *args, struct err *e)
{
    struct check *c = *out = arena_new(args->arena, struct check);
    struct settings *s = arena_new(args->arena, struct settings);
    const struct settings_ask ask = {
        .environment = environ, .options = args->cmd->options, .given = args->opt, .no_code = true};
    c->arena = args->arena;
    rule_params_init(&c->params, c->arena);
    TRY(settings_load(s, &ask, c->arena, e));
    for (size_t i = 0; i < s->problems.n; i++)
        fprintf(stderr, "footplate: %s\n", text_safe(c->arena, s->problems.v[i]));
    user_rules_files(&c->user, s, c->arena);
    TRY(check_take_params(c, s, e));
    for (size_t i = 0; i < s->n_custom; i++)
        TRY(user_rules_add(&c->user, &s->custom[i], e));
    return 0;
}

int check_choose_pricing(struct check *c, const char *machine, const char *price, struct err *e)
{
    struct machines *table = arena_new(c->arena, struct machines);
    c->pricing = (struct pricing){.table = table, .machine = machine};
    TRY(machines_load(table, NULL, c->arena, e));
    if (machine && !price && !machines_find(table, machine))
        return machines_unknown(table, machine, e);
    return price ? price_parse(price, &c->pricing.price_per_hour, e) : 0;
}

/* ---- which are shown ---- */

static bool check_is_builtin(const char *name)
{
    return rule_find(name) || rule_unsupported(name, strlen(name)) < RULES_UNSUPPORTED;
}

int check_choose_rules(struct check *c, const struct opt_value *requested, struct err *e)
{
    c->requested = requested;
    c->user.only = requested->all;
    c->user.n_only = requested->n_all;
    for (size_t i = 0; i < requested->n_all; i++)
        check_note_unsupported(c, requested->all[i], strlen(requested->all[i]));
    for (size_t i = 0; i < requested->n_all; i++)
        if (!check_is_builtin(requested->all[i]) && !user_rules_has(&c->user, requested->all[i]) &&
            c->user.n_files == 0)
            return rule_unknown(requested->all[i], e);
    for (size_t k = 0; k < RULE_N; k++)
        c->shown[k] = requested->n_all == 0;
    for (size_t i = 0; i < requested->n_all; i++)
        for (size_t k = 0; k < RULE_N; k++)
            c->shown[k] |= rules[k] == rule_find(requested->all[i]);
    return 0;
}

/* ---- evaluating ---- */

static void check_add(struct check *c, const struct verdict *v, const struct param_value *p)
{
    c->v[c->n_v] = *v;
    c->p[c->n_v++] = p;
}

/* Names of rules that are in none of the files; a file that could not be read may have any. */
static int check_names(const struct check *c, struct err *e)
{
    const size_t builtin = SUM_OF(k, RULE_N, c->shown[k]);
    if (c->n_v >= c->requested->n_all || builtin == c->requested->n_all)
        return 0;
    for (size_t i = 0; i < c->requested->n_all; i++) {
        const char *name = c->requested->all[i];
        const struct rule *rule = rule_find(name);
        const size_t k =
            FIND_FIRST(at, c->n_v, strcmp(c->v[at].rule->name, name) == 0 || c->v[at].rule == rule);
        if (k == c->n_v)
            return rule_unknown(c->requested->all[i], e);
    }
    return 0;
}

/* One that --set names is not shown beside those of --rule. */
static bool check_shows_unsupported(const struct check *c, size_t i)
{
    bool requested = c->requested->n_all == 0;
    for (size_t k = 0; k < c->requested->n_all; k++)
        requested |= rule_unsupported(c->requested->all[k], strlen(c->requested->all[k])) == i;
    return requested;
}

static bool check_has_right_size(const struct check *c)
{
    return FIND_ANY(k, c->n_v, c->v[k].right_size);
}

static void check_sort(struct check *c)
{
    const struct verdict **v = arena_array(c->arena, const struct verdict *, c->n_v + 1);
    struct verdict *out = arena_array(c->arena, struct verdict, c->n_v + 1);
    const struct param_value **p = arena_array(c->arena, const struct param_value *, c->n_v + 1);
    verdicts_in_order(c->v, c->n_v, v);
    for (size_t k = 0; k < c->n_v; k++) {
        out[k] = *v[k];
        p[k] = c->p[v[k] - c->v];
    }
    c->v = out;
    c->p = p;
}

int check_collect(struct check *c, struct run *r, struct err *e)
{
    struct hosted *user;
    size_t n;
    TRY(user_rules_check(&c->user, NULL, r, c->arena, &user, &n, e));
    c->v = arena_array(c->arena, struct verdict, RULE_N + RULES_UNSUPPORTED + n);
    c->p = arena_array(c->arena, const struct param_value *, RULE_N + RULES_UNSUPPORTED + n);
    for (size_t k = 0; k < RULE_N; k++)
        if (c->shown[k])
            check_add(c, &c->checked.verdicts.v[k], c->params.v[k]);
    for (size_t i = 0; i < RULES_UNSUPPORTED; i++)
        if (c->unsupported[i] && check_shows_unsupported(c, i)) {
            const struct verdict v = rule_unsupported_verdict(i, c->arena);
            check_add(c, &v, NULL);
        }
    if (!check_has_right_size(c))
        c->right_size = NULL; /* its rules are not shown */
    for (size_t i = 0; i < n; i++)
        check_add(c, &user[i].v, user[i].p);
    TRY(check_names(c, e));
    check_sort(c);
    return 0;
}
