/* SPDX-License-Identifier: Apache-2.0 */
/* own_rules.c - see own_rules.h. */
#include "cmd/own_rules.h"

#include <string.h>

#include "base/mem.h"
#include "config/settings.h"
#include "rules/custom.h"

void own_rules_files(struct own_rules *o, const struct settings *s, struct arena *a)
{
    const char **files = arena_array(a, const char *, s->n_rule_files + 1);
    memcpy(files, s->rule_files, s->n_rule_files * sizeof *files);
    o->files = files;
    o->n_files = s->n_rule_files;
    o->sets = arena_array(a, const char *, s->n_rule_settings + 1);
    o->limit_ns = OWN_RULE_LIMIT_NS;
}

static bool is_builtin(const char *text, struct arena *a)
{
    const char *name = arena_strndup(a, text, strcspn(text, ".="));
    return rule_find(name) || strcmp(name, "ProfilerReport") == 0;
}

bool own_rules_set(struct own_rules *o, const char *text, struct arena *a)
{
    if (o->n_files == 0 || is_builtin(text, a))
        return false;
    o->sets[o->n_sets++] = text;
    return true;
}

bool own_rules_any(const struct own_rules *o)
{
    return o->custom.n > 0 || o->n_files > 0;
}

static int check_files(const struct own_rules *o, const char *folder, struct arena *a,
                       struct hosted **out, size_t *n, struct err *e)
{
    const struct rules_host_ask ask = {
        .files = o->files,
        .n_files = o->n_files,
        .run = folder,
        .sets = o->sets,
        .n_sets = o->n_sets,
        .limit_ns = o->limit_ns,
    };
    *n = 0;
    return o->n_files ? rules_host_check(&ask, a, out, n, e) : 0;
}

int own_rules_check(const struct own_rules *o, struct run *r, struct arena *a, struct hosted **out,
                    size_t *n, struct err *e)
{
    struct hosted *python;
    size_t n_python;
    int rc = check_files(o, run_get_info(r)->path, a, &python, &n_python, e);
    if (rc != 0)
        return rc;
    *n = 0;
    *out = arena_array(a, struct hosted, o->custom.n + n_python + 1);
    for (size_t i = 0; rc == 0 && i < o->custom.n; i++)
        rc = custom_rule_check(&o->custom.v[i], r, a, &(*out)[(*n)++].v, e);
    for (size_t i = 0; i < n_python; i++)
        (*out)[(*n)++] = python[i];
    return rc;
}
