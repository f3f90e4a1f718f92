/* SPDX-License-Identifier: Apache-2.0 */
/* action_make.c - an action as the user wrote it, checked. See action.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "rules/rule.h"
#include "watch/action.h"

#define TIMEOUT_NS     (10 * NS_PER_S)
#define TIMEOUT_MIN_NS (100 * NS_PER_MS)
#define TIMEOUT_MAX_NS (600 * NS_PER_S)

enum { LIMIT_MOST = 100000, LIMIT_OTHERWISE = 20 };

const struct action_key action_keys[] = {
    {"do", "type of action", false},
    {"on", "issue: when a rule finds an issue; clear: when the issue is over (default: issue)",
     true},
    {"rules", "only for these rules (default: all)", true},
    {"severity", "minimum severity: info, warning or critical (default: info)", false},
    {"limit", "rate limit, such as 10/h or 1/min (default: 20/h)", false},
    {"timeout", "time limit for one attempt, from 100ms to 10min (default: 10s)", false},
    {0},
};

/* ---- texts ---- */

const char **action_list(const struct action_setting *s, const char *key, struct arena *a,
                         size_t *n)
{
    const char **all = arena_array(a, const char *, s->n + 1);
    *n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].key, key) == 0)
            all[(*n)++] = s->v[i].value;
    return all;
}

int action_secret(const struct action_setting *s, const char *key, struct arena *a,
                  const char **out, struct err *e)
{
    const char *name = action_setting_get(s, arena_printf(a, "%s-env", key));
    *out = action_setting_get(s, key);
    if (*out && name)
        return err_set(e, ERR_USAGE, "both '%s' and '%s-env' are set", key, key);
    if (!name)
        return 0;
    const char *value = getenv(name);
    if (!value || !*value)
        return err_set(e, ERR_USAGE, "'%s-env': environment variable '%s' is not set", key, name);
    *out = arena_strdup(a, value);
    return 0;
}

/* ---- keys ---- */

static const struct action_key *key_in(const struct action_key *table, const char *name)
{
    for (; table && table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

static int action_make_unknown_key(const struct action_kind *k, const char *name, struct err *e)
{
    struct nearest n = nearest_to(name);
    for (const struct action_key *key = action_keys; key->name; key++)
        nearest_offer(&n, key->name);
    for (const struct action_key *key = k->keys; key->name; key++)
        nearest_offer(&n, key->name);
    if (n.best)
        return err_set(e, ERR_USAGE, "%s has no key '%.40s' (did you mean '%s'?)", k->name, name,
                       n.best);
    return err_set(e, ERR_USAGE, "%s has no key '%.40s'", k->name, name);
}

static int check_keys(const struct action_kind *k, const struct action_setting *s, struct err *e)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *name = s->v[i].key;
        const struct action_key *key = key_in(action_keys, name);
        key = key ? key : key_in(k->keys, name);
        if (!key)
            return action_make_unknown_key(k, name, e);
        if (key->list)
            continue;
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->v[j].key, name) == 0)
                return err_set(e, ERR_USAGE, "'%s' takes one value, not a list", name);
    }
    return 0;
}

/* ---- the kind ---- */

static int no_such_kind(const char *name, struct err *e)
{
    char all[160] = "";
    struct nearest n = nearest_to(name ? name : "");
    for (size_t i = 0; action_kinds[i]; i++) {
        const size_t len = strlen(all);
        snprintf(all + len, sizeof all - len, "%s%s", i ? ", " : "", action_kinds[i]->name);
        nearest_offer(&n, action_kinds[i]->name);
    }
    if (!name)
        return err_set(e, ERR_USAGE, "missing 'do'; it is one of %s", all);
    if (n.best)
        return err_set(e, ERR_USAGE, "unknown action '%.40s' (did you mean '%s'?)", name, n.best);
    return err_set(e, ERR_USAGE, "unknown action '%.40s'; use one of %s", name, all);
}

static int take_kind(struct action *out, const struct action_setting *s, struct err *e)
{
    const char *name = action_setting_get(s, "do");
    for (size_t i = 0; name && action_kinds[i]; i++)
        if (strcmp(action_kinds[i]->name, name) == 0)
            out->kind = action_kinds[i];
    return out->kind ? 0 : no_such_kind(name, e);
}

/* ---- when ---- */

static int take_on(struct action *out, const struct action_setting *s, struct arena *a,
                   struct err *e)
{
    size_t n;
    const char **all = action_list(s, "on", a, &n);
    out->on_issue = n == 0;
    for (size_t i = 0; i < n; i++) {
        const bool issue = strcmp(all[i], "issue") == 0, clear = strcmp(all[i], "clear") == 0;
        if (!issue && !clear)
            return err_set(e, ERR_USAGE, "'on': '%.40s' is neither issue nor clear", all[i]);
        out->on_issue |= issue;
        out->on_clear |= clear;
    }
    return 0;
}

/* Which rules there are in Python is known only once they run. */
static bool is_rule(const struct settings *all, const char *name)
{
    for (size_t i = 0; i < all->n_custom; i++) {
        const char *own = action_setting_get(&all->custom[i], "name");
        if (own && strcmp(own, name) == 0)
            return true;
    }
    return rule_find(name) || all->n_rule_files > 0;
}

static int action_make_take_rules(struct action *out, const struct settings *all,
                                  const struct action_setting *s, struct arena *a, struct err *e)
{
    out->rules = action_list(s, "rules", a, &out->n_rules);
    const size_t at = FIND_FIRST(i, out->n_rules, !is_rule(all, out->rules[i]));
    return at < out->n_rules ? rule_unknown(out->rules[at], e) : 0;
}

static int take_severity(struct action *out, const struct action_setting *s, struct err *e)
{
    const char *text = action_setting_get(s, "severity");
    out->least = SEVERITY_INFO;
    if (!text)
        return 0;
    for (int i = 0; i < SEVERITY_N; i++)
        if (strcmp(severity_names[i], text) == 0) {
            out->least = (enum severity)i;
            return 0;
        }
    return err_set(e, ERR_USAGE, "'severity': '%.40s' is not one of info, warning, critical", text);
}

/* "10/h" */
static int take_limit(struct action *out, const struct action_setting *s, struct err *e)
{
    static const struct {
        const char *name;
        int64_t s;
    } units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    const char *text = action_setting_get(s, "limit");
    char *end;
    out->most = LIMIT_OTHERWISE;
    out->per_ns = 3600 * NS_PER_S;
    if (!text)
        return 0;
    const long n = strtol(text, &end, 10);
    for (size_t i = 0; *end == '/' && i < COUNT_OF(units); i++)
        if (strcmp(end + 1, units[i].name) == 0 && n >= 1 && n <= LIMIT_MOST) {
            out->most = n;
            out->per_ns = units[i].s * NS_PER_S;
            return 0;
        }
    return err_set(e, ERR_USAGE, "'limit': '%.40s' is not a rate (examples: 10/h, 1/min, 5/d)",
                   text);
}

static int take_timeout(struct action *out, const struct action_setting *s, struct err *e)
{
    const char *text = action_setting_get(s, "timeout");
    out->timeout_ns = TIMEOUT_NS;
    if (!text)
        return 0;
    return duration_parse_within("'timeout'", text, TIMEOUT_MIN_NS, TIMEOUT_MAX_NS,
                                 &out->timeout_ns, e);
}

int action_make(struct action *out, const struct settings *all, const struct action_setting *s,
                struct arena *a, struct err *e)
{
    struct action made = {0};
    TRY(take_kind(&made, s, e));
    TRY(check_keys(made.kind, s, e));
    TRY(take_on(&made, s, a, e));
    TRY(action_make_take_rules(&made, all, s, a, e));
    TRY(take_severity(&made, s, e));
    TRY(take_limit(&made, s, e));
    TRY(take_timeout(&made, s, e));
    TRY(made.kind->make(&made, s, a, e));
    *out = made;
    return 0;
}

int action_make_all(struct settings *s, struct arena *a, struct action **out, size_t *n,
                    struct err *e)
{
    struct action *all = arena_array(a, struct action, s->n_actions + 1);
    *n = 0;
    for (size_t i = 0; i < s->n_actions; i++) {
        const struct origin *from = &s->actions[i].from;
        if (action_make(&all[*n], s, &s->actions[i], a, e) == 0) {
            all[*n].number = *n;
            (*n)++;
        } else if (from->source == FROM_OPTION && e->code != ERR_NOT_FOUND) {
            e->code = ERR_USAGE;
            return err_in(e, "%s", from->where);
        } else {
            remarks_add(&s->problems, "%s: action %zu: %s; ignored", from->where, i + 1, e->msg);
        }
    }
    *out = all;
    return 0;
}

/* ---- recipients ---- */

static bool action_make_counts(enum rule_state state, enum severity severity, enum severity least)
{
    return state == RULE_ISSUE && severity >= least;
}

bool action_is_for(const struct action *a, const struct verdict *v, enum rule_state state_before,
                   enum severity severity_before, bool *clear)
{
    const bool was = action_make_counts(state_before, severity_before, a->least);
    const bool is = action_make_counts(v->state, v->severity, a->least);
    *clear = was;
    return was != is && (was ? a->on_clear : a->on_issue) &&
           (a->n_rules == 0 || text_among(v->rule->name, a->rules, a->n_rules));
}
