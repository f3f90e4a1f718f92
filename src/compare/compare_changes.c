/* SPDX-License-Identifier: Apache-2.0 */
/* compare_changes.c - what is known to differ between the runs of both sides before anything is
 * measured: command, commit, machines. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compare/compare_internal.h"

enum { COMMIT_SHOWN = 7, CHANGES_MOST = 8 };

/* What a run has, as text; NULL: not known. `brief`: as people read it. */
typedef const char *describe_run(const struct run_info *info, bool brief, struct arena *a);

static const char *command_of(const struct run_info *info, bool brief, struct arena *a)
{
    (void)brief;
    const char *text = NULL;
    for (const char *const *w = info->command; w && *w; w++)
        text = text ? arena_printf(a, "%s %s", text, *w) : *w;
    return text;
}

static const char *commit_of(const struct run_info *info, bool brief, struct arena *a)
{
    const char *c = info->git_commit;
    if (!c || !*c)
        return NULL;
    return brief && strlen(c) > COMMIT_SHOWN ? arena_strndup(a, c, COMMIT_SHOWN) : c;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All that occur, each once, in order; NULL where one is not known. */
static const char *compare_changes_together(const char **v, size_t n, struct arena *a)
{
    const char *text = NULL;
    for (size_t i = 0; i < n; i++)
        if (!v[i])
            return NULL;
    qsort((void *)v, n, sizeof *v, by_text);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(v[i], v[i - 1]) != 0)
            text = text ? arena_printf(a, "%s or %s", text, v[i]) : v[i];
    return text;
}

static const char *compare_changes_machine_of(const struct run_info *info, bool brief,
                                              struct arena *a)
{
    const char **v = arena_array(a, const char *, info->n_nodes + 1);
    (void)brief;
    for (size_t i = 0; i < info->n_nodes; i++)
        v[i] = info->nodes[i].machine && *info->nodes[i].machine ? info->nodes[i].machine : NULL;
    return compare_changes_together(v, info->n_nodes, a);
}

static const char *compare_changes_gpus_of(const struct run_info *info, bool brief, struct arena *a)
{
    (void)brief;
    for (size_t i = 0; i < info->n_nodes; i++)
        if (!info->nodes[i].gpus_known)
            return NULL;
    return info->n_nodes ? arena_printf(a, "%zu", runview_gpus(info)) : NULL;
}

/* A node that was recorded in several sessions is one. */
static const char *nodes_of(const struct run_info *info, bool brief, struct arena *a)
{
    size_t n = 0;
    (void)brief;
    for (size_t i = 0; i < info->n_nodes; i++)
        n += i == 0 || strcmp(info->nodes[i].id, info->nodes[i - 1].id) != 0;
    return n ? arena_printf(a, "%zu", n) : NULL;
}

static const char *compare_changes_of_side(const struct comparing *c, int side,
                                           describe_run *describe, bool brief)
{
    const struct side_reading *s = &c->side[side];
    const char **v = arena_array(c->scratch, const char *, s->n + 1);
    for (size_t i = 0; i < s->n; i++)
        v[i] = describe(s->v[i].info, brief, c->scratch);
    return compare_changes_together(v, s->n, c->scratch);
}

void compare_changes(struct comparing *c)
{
    static const struct {
        const char *what;
        describe_run *describe;
        bool long_text; /* named only */
    } all[] = {
        {"command", command_of, true},
        {"commit", commit_of, false},
        {"machine type", compare_changes_machine_of, false},
        {"nodes", nodes_of, false},
        {"GPUs", compare_changes_gpus_of, false},
    };
    struct compared *o = c->out;
    o->differences = arena_array(c->arena, struct compared_difference, CHANGES_MOST);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const char *x = compare_changes_of_side(c, COMPARE_A, all[i].describe, false),
                   *y = compare_changes_of_side(c, COMPARE_B, all[i].describe, false);
        if (!x || !y || strcmp(x, y) == 0)
            continue;
        o->differences[o->n_differences++] = (struct compared_difference){
            .what = all[i].what,
            .v = {arena_strdup(c->arena, x), arena_strdup(c->arena, y)},
            .text =
                all[i].long_text
                    ? all[i].what
                    : arena_printf(c->arena, "%s %s -> %s", all[i].what,
                                   compare_changes_of_side(c, COMPARE_A, all[i].describe, true),
                                   compare_changes_of_side(c, COMPARE_B, all[i].describe, true))};
    }
}
