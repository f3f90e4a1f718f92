/* SPDX-License-Identifier: Apache-2.0 */
/* user_rules.c - see user_rules.h. */
#include "userrules/user_rules.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "config/settings.h"
#include "userrules/python_host.h"

static_assert((int)CUSTOM_MOST >= (int)CUSTOM_RULES_MOST,
              "room for all that the settings can hold");

/* ---- from the settings ---- */

void user_rules_files(struct user_rule_set *u, const struct settings *s, struct arena *a)
{
    const char **files = arena_array(a, const char *, s->n_rule_files + 1);
    memcpy(files, s->rule_files, s->n_rule_files * sizeof *files);
    u->files = files;
    u->n_files = s->n_rule_files;
    u->sets = arena_array(a, const char *, s->n_rule_settings + 1);
    u->limit_ns = USER_RULE_LIMIT_NS;
}

bool user_rules_has(const struct user_rule_set *u, const char *name)
{
    for (size_t i = 0; i < u->n_custom; i++)
        if (strcmp(u->custom[i].name, name) == 0)
            return true;
    return false;
}

int user_rules_add(struct user_rule_set *u, const struct action_setting *from, struct err *e)
{
    struct custom_rule r = custom_rule_new();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < from->n; i++)
        rc = custom_rule_set(&r, from->v[i].key, from->v[i].value, e);
    if (rc == 0)
        rc = custom_rule_done(&r, e);
    if (rc == 0 && user_rules_has(u, r.name))
        rc = err_set(e, ERR_USAGE, "custom rule '%s' is already defined", r.name);
    if (rc != 0)
        return err_in(e, "%s", from->from.where);
    u->custom[u->n_custom++] = r;
    return 0;
}

static bool user_rules_is_builtin(const char *text, struct arena *a)
{
    const char *name = arena_strndup(a, text, strcspn(text, ".="));
    return rule_find(name) || strcmp(name, "ProfilerReport") == 0;
}

bool user_rules_set(struct user_rule_set *u, const char *text, struct arena *a)
{
    if (u->n_files == 0 || user_rules_is_builtin(text, a))
        return false;
    u->sets[u->n_sets++] = text;
    return true;
}

bool user_rules_any(const struct user_rule_set *u)
{
    return u->n_custom > 0 || u->n_files > 0;
}

/* ---- evaluating ---- */

static bool user_rules_wants(const struct user_rule_set *u, const char *name)
{
    for (size_t i = 0; i < u->n_only; i++)
        if (strcmp(u->only[i], name) == 0)
            return true;
    return u->n_only == 0;
}

static int user_rules_check_files(const struct user_rule_set *u, const char *folder,
                                  struct arena *a, struct hosted **out, size_t *n, struct err *e)
{
    const struct python_host_ask ask = {
        .files = u->files,
        .n_files = u->n_files,
        .run = folder,
        .sets = u->sets,
        .n_sets = u->n_sets,
        .only = u->only,
        .n_only = u->n_only,
        .limit_ns = u->limit_ns,
    };
    *n = 0;
    return u->n_files ? python_host_check(&ask, a, out, n, e) : 0;
}

int user_rules_check(const struct user_rule_set *u, struct run *r, struct arena *a,
                     struct hosted **out, size_t *n, struct err *e)
{
    struct hosted *python;
    size_t n_python;
    int rc = user_rules_check_files(u, run_get_info(r)->path, a, &python, &n_python, e);
    if (rc != 0)
        return rc;
    *n = 0;
    *out = arena_array(a, struct hosted, u->n_custom + n_python + 1);
    for (size_t i = 0; rc == 0 && i < u->n_custom; i++)
        if (user_rules_wants(u, u->custom[i].name))
            rc = custom_rule_check(&u->custom[i], r, a, &(*out)[(*n)++].v, e);
    for (size_t i = 0; i < n_python; i++)
        (*out)[(*n)++] = python[i];
    return rc;
}
