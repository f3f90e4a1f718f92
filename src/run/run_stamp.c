/* SPDX-License-Identifier: Apache-2.0 */
/* run_stamp.c - see run_stamp.h. */
#include "run/run_stamp.h"

#include <string.h>

#include "base/mem.h"
#include "run/run_names.h"
#include "run/storage.h"

#define STAMP_BITS ((UINT64_C(1) << 53) - 1)

struct run_look {
    const char *run;
    bool data;
    struct run_stamp stamp;
};

/* A list has any order, so each entry is hashed alone and the hashes are added. */
static void run_stamp_add_entry(struct run_stamp *s, const char *name,
                                const struct storage_stat *st)
{
    const uint64_t facts[] = {st->version, format_sum(name, strlen(name))};
    s->version += format_sum(facts, sizeof facts);
    s->newest_ns = MAX_OF(s->newest_ns, st->changed_ns);
    s->bytes += st->bytes;
}

static void run_stamp_add_file(void *ctx, const struct storage_entry *x)
{
    if (*x->name != '.')
        run_stamp_add_entry(ctx, x->name, &x->stat);
}

/* Of a folder whose files are only described its own version is enough: they come, go and are
 * replaced in it. */
static void run_stamp_add_to_look(void *ctx, const struct storage_entry *x)
{
    struct run_look *l = ctx;
    char folder[PATH_LEN];
    struct err e;
    if (!run_node_id(x->name))
        return;
    if (!l->data)
        run_stamp_add_entry(&l->stamp, x->name, &x->stat);
    else if (x->kind == STORAGE_FOLDER && run_path(folder, l->run, x->name, &e) == 0 &&
             storage_of(folder)->list(folder, STORAGE_WITH_STAT, run_stamp_add_file, &l->stamp, &e))
        return; /* it is gone meanwhile */
}

static bool run_stamp_add_named(struct run_look *l, const char *name)
{
    char path[PATH_LEN];
    struct storage_stat st;
    struct err e;
    if (run_path(path, l->run, name, &e) || storage_of(path)->stat(path, 0, &st, &e))
        return false;
    run_stamp_add_entry(&l->stamp, name, &st);
    return true;
}

static struct run_stamp run_stamp_look_through(const char *run, bool data)
{
    struct run_look l = {.run = run, .data = data};
    struct err e;
    if (!run_stamp_add_named(&l, RUN_ABOUT))
        return l.stamp;
    if (storage_of(run)->list(run, STORAGE_FOLLOW | STORAGE_WITH_STAT, run_stamp_add_to_look, &l,
                              &e))
        return (struct run_stamp){0};
    if (!data)
        run_stamp_add_named(&l, RUN_FINDINGS);
    l.stamp.version = MAX_OF(l.stamp.version & STAMP_BITS, UINT64_C(1));
    return l.stamp;
}

uint64_t run_stamp_about(const char *run)
{
    return run_stamp_look_through(run, false).version;
}

struct run_stamp run_stamp_data(const char *run)
{
    return run_stamp_look_through(run, true);
}

static int64_t run_stamp_changed(const char *path)
{
    struct storage_stat st;
    struct err e;
    return storage_of(path)->stat(path, STORAGE_FOLLOW, &st, &e) == 0 ? st.changed_ns : 0;
}

int64_t run_stamp_findings(const char *run)
{
    char path[PATH_LEN];
    struct err e;
    return run_path(path, run, RUN_FINDINGS, &e) == 0 ? run_stamp_changed(path) : 0;
}

int64_t run_stamp_folder(const char *run)
{
    return run_stamp_changed(run);
}
