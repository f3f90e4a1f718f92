/* SPDX-License-Identifier: Apache-2.0 */
/* runs_scan.c - the list of runs: scans the folders and builds the list that requests read. A run
 * that did not change since the last scan is not read again. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "json/json.h"
#include "query/run.h"
#include "rules/feed_run.h"
#include "run/run_files.h"
#include "serve/hash.h"
#include "serve/runs_internal.h"

enum { WINDOW_MOST = 16 << 20 };

/* ---- findings.json: how many issues ---- */

/* The depth of the keys of a rule: {"rules": [ { here */
enum { RULE_DEPTH = 3 };

struct issues_counting {
    int depth;
    bool issue, evaluated, summary, ending;
    int severity; /* -1: none seen */
    unsigned *n;
};

static bool issues_text_is(const struct json_text *t, const char *word)
{
    return t->len == strlen(word) && memcmp(t->p, word, t->len) == 0;
}

static void issues_see_text(struct issues_counting *c, const struct json_item *x)
{
    if (c->depth != RULE_DEPTH)
        return;
    if (issues_text_is(&x->key, "rule"))
        c->ending = issues_text_is(&x->text, rules[RULE_failed_early]->name);
    if (issues_text_is(&x->key, "state")) {
        c->issue = issues_text_is(&x->text, rule_state_names[RULE_ISSUE]);
        c->evaluated = !issues_text_is(&x->text, rule_state_names[RULE_NOT_EVALUATED]);
    }
    for (int i = 0; i < SEVERITY_N && issues_text_is(&x->key, "severity"); i++)
        if (issues_text_is(&x->text, severity_names[i]))
            c->severity = i;
}

static void issues_leave(struct issues_counting *c)
{
    if (c->depth == RULE_DEPTH && c->issue && c->severity >= 0)
        c->n[c->severity]++;
    if (c->depth == RULE_DEPTH && c->evaluated && !c->summary && (c->issue || !c->ending))
        c->n[ISSUE_EVALUATED]++;
    c->depth--;
}

static bool issues_count(struct json_scan *j, struct issues_counting *c)
{
    for (;;) {
        struct json_item x;
        const enum json_kind kind = json_next(j, &x);
        if (json_is_over(kind))
            return kind == JS_DONE;
        if (kind == JS_OBJECT || kind == JS_ARRAY) {
            if (++c->depth == RULE_DEPTH)
                *c = (struct issues_counting){.depth = c->depth, .severity = -1, .n = c->n};
        } else if (kind == JS_END) {
            issues_leave(c);
        } else if (kind == JS_STRING) {
            issues_see_text(c, &x);
        } else if (kind == JS_TRUE && c->depth == RULE_DEPTH) {
            c->summary |= issues_text_is(&x.key, "summary");
        }
    }
}

/* Counts the issues of findings.json; false: there is none that can be read. */
static bool issues_read(const char *path, unsigned out[ISSUE_COUNTS])
{
    struct arena a = {0};
    struct err e;
    char *text;
    size_t len;
    memset(out, 0, ISSUE_COUNTS * sizeof *out);
    bool good = run_read_findings(path, &a, &text, &len, &e) == 0;
    if (good) {
        struct bytes_memory in;
        struct json_scan j;
        const struct json_options options = {.window_most = WINDOW_MOST};
        bytes_memory_init(&in, text, len, 0);
        json_open(&j, &in.in, &options);
        good = issues_count(&j, &(struct issues_counting){.n = out});
        json_close(&j);
    }
    arena_free(&a);
    return good;
}

/* ---- the description of a run ---- */

struct runs_about *about_read(const struct run_listed *x, uint64_t stamp)
{
    struct runs_about *a = xcalloc(1, sizeof *a);
    struct err e;
    *a = (struct runs_about){.refs = 1, .stamp = stamp};
    if (run_info_of(&a->info, x, &a->arena, &e) != 0) {
        a->broken = arena_strdup(&a->arena, e.msg);
        a->start_ns = run_stamp_folder(x->path);
        return a;
    }
    a->start_ns = a->info.start.ns;
    a->bytes = run_stamp_data(x->path).bytes;
    receive_owner(x->path, a->owner);
    a->has_issues = issues_read(x->path, a->issues);
    return a;
}

/* Of a catalogue with many runs only the entries are read, no findings. */
static struct runs_about *scan_about(struct runs *r, const struct run_listed *x, uint64_t stamp)
{
    if (!x->stamp || r->n_items < CATALOG_FEW)
        return about_read(x, stamp);
    struct runs_about *a = xcalloc(1, sizeof *a);
    struct err e;
    *a = (struct runs_about){.refs = 1, .stamp = stamp};
    if (run_info_of(&a->info, x, &a->arena, &e) != 0)
        a->broken = arena_strdup(&a->arena, e.msg);
    a->start_ns = x->start_ns;
    return a;
}

/* ---- references ---- */

static struct runs_item **scan_slot_of(struct runs *r, const char *name)
{
    struct runs_item **at = &r->slot[hash_text(name, 0) & (RUNS_SLOTS - 1)];
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->chain;
    return at;
}

struct runs_item *runs_find(struct runs *r, const char *name)
{
    pthread_mutex_lock(&r->lock);
    struct runs_item *x = *scan_slot_of(r, name);
    if (x)
        x->refs++;
    pthread_mutex_unlock(&r->lock);
    return x;
}

void about_unref(struct runs *r, struct runs_about *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&r->lock);
    const bool last = --a->refs == 0;
    pthread_mutex_unlock(&r->lock);
    if (!last)
        return;
    arena_free(&a->arena);
    free(a);
}

static void runs_item_free(struct runs_item *x)
{
    run_close(x->run);
    evaluation_close(x->evaluation);
    pthread_mutex_destroy(&x->use);
    free(x->findings);
    free(x->findings_error);
    free(x->name);
    free(x->folder);
    free(x->path);
    free(x);
}

void runs_unref(struct runs *r, struct runs_item *x)
{
    pthread_mutex_lock(&r->lock);
    const bool last = --x->refs == 0;
    if (last && x->open) {
        r->n_open--;
        r->open_bytes -= x->bytes;
    }
    pthread_mutex_unlock(&r->lock);
    if (!last)
        return;
    about_unref(r, x->about);
    runs_item_free(x);
}

void picture_unref(struct runs *r, struct runs_picture *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&r->lock);
    const bool last = --p->refs == 0;
    pthread_mutex_unlock(&r->lock);
    if (!last)
        return;
    for (size_t i = 0; i < p->n; i++) {
        about_unref(r, p->about[i]);
        runs_unref(r, p->items[i]);
    }
    free(p->items);
    free(p->about);
    free(p->issues);
    free(p->v);
    free(p);
}

/* ---- scanning a run ---- */

static struct runs_item *scan_add_item(struct runs *r, const char *name, const char *folder,
                                       const struct run_listed *found, uint64_t stamp)
{
    struct runs_item *x = xcalloc(1, sizeof *x);
    *x = (struct runs_item){.refs = 1};
    x->name = xstrdup(name);
    x->folder = xstrdup(folder);
    x->path = xstrdup(found->path);
    x->about = scan_about(r, found, stamp);
    pthread_mutex_init(&x->use, NULL);
    pthread_mutex_lock(&r->lock);
    *scan_slot_of(r, name) = x;
    r->n_items++;
    pthread_mutex_unlock(&r->lock);
    return x;
}

/* Names are the folders'; of two that are the same the later one gets another name.
 */
static struct runs_item *scan_item_of(struct runs *r, const char *folder,
                                      const struct run_listed *found, uint64_t stamp)
{
    const char *path = found->path;
    char name[PATH_LEN];
    struct err e;
    for (unsigned k = 1; k < 100; k++) {
        const int rc = k == 1 ? path_join(name, &e, "%s", path_base(path))
                              : path_join(name, &e, "%s~%u", path_base(path), k);
        struct runs_item *x = rc ? NULL : *scan_slot_of(r, name);
        if (rc)
            return NULL;
        if (!x)
            return scan_add_item(r, name, folder, found, stamp);
        if (strcmp(x->path, path) == 0)
            return x->seen ? NULL : x;
    }
    return NULL;
}

static void scan_refresh(struct runs *r, struct runs_item *x, const struct run_listed *found,
                         uint64_t stamp)
{
    struct runs_about *before = x->about;
    const bool living = before && !before->broken && before->info.status == RUN_RUNNING;
    if (before && before->stamp == stamp && !living)
        return;
    struct runs_about *now = scan_about(r, found, stamp);
    pthread_mutex_lock(&r->lock);
    x->about = now;
    pthread_mutex_unlock(&r->lock);
    about_unref(r, before);
}

static void scan_run(struct runs *r, const char *folder, const struct run_listed *found)
{
    const uint64_t stamp = found->stamp ? found->stamp : run_stamp_about(found->path);
    struct runs_item *x =
        stamp && r->n_items < RUNS_MOST ? scan_item_of(r, folder, found, stamp) : NULL;
    if (!x)
        return;
    x->seen = true;
    scan_refresh(r, x, found, stamp);
}

/* ---- scanning folders ---- */

struct runs_listing {
    struct runs *runs;
    const char *folder;
};

static void scan_entry(void *ctx, const struct run_listed *found)
{
    const struct runs_listing *l = ctx;
    scan_run(l->runs, l->folder, found);
}

static void scan_folder(struct runs *r, const char *folder)
{
    struct err ignored;          /* a folder that is not there has no runs */
    if (run_stamp_about(folder)) /* it is a run itself */
        scan_run(r, folder, &(struct run_listed){.path = folder});
    else
        (void)!run_each_listed(folder, scan_entry, &(struct runs_listing){r, folder}, &ignored);
}

static void scan_remember_gone(struct runs *r, const char *name)
{
    free(r->gone[r->next_gone]);
    r->gone[r->next_gone] = xstrdup(name);
    r->next_gone = (r->next_gone + 1) % RUNS_GONE;
}

/* Removes the runs that were not found again. One that is in use is freed after its use. */
static void scan_forget_unseen(struct runs *r)
{
    struct runs_item *gone = NULL;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < RUNS_SLOTS; i++)
        for (struct runs_item **at = &r->slot[i]; *at;) {
            struct runs_item *x = *at;
            if (x->seen) {
                at = &x->chain;
                continue;
            }
            *at = x->chain;
            x->chain = gone;
            gone = x;
            r->n_items--;
            scan_remember_gone(r, x->name);
        }
    pthread_mutex_unlock(&r->lock);
    while (gone) {
        struct runs_item *next = gone->chain;
        runs_unref(r, gone);
        gone = next;
    }
}

/* ---- the list ---- */

static int picture_newest_first(const void *a, const void *b)
{
    const struct runs_item *x = *(struct runs_item *const *)a, *y = *(struct runs_item *const *)b;
    return COMPARE(y->about->start_ns, x->about->start_ns) ?: strcmp(y->name, x->name);
}

/* `counts` is where the list stores them. */
static struct runs_entry picture_entry_of(const struct runs_item *x, unsigned counts[ISSUE_COUNTS])
{
    const struct runs_about *a = x->about;
    const unsigned *issues = judge_issues(x);
    if (issues)
        memcpy(counts, issues, ISSUE_COUNTS * sizeof *counts);
    return (struct runs_entry){
        .name = x->name,
        .folder = x->folder,
        .path = x->path,
        .info = a->broken ? NULL : &a->info,
        .broken = a->broken,
        .live = !a->broken && a->info.status == RUN_RUNNING,
        .bytes = a->bytes,
        .owner = a->owner,
        .issues = issues ? counts : NULL,
    };
}

static struct runs_picture *picture_make(struct runs *r)
{
    struct runs_picture *p = xcalloc(1, sizeof *p);
    p->refs = 1;
    p->items = xcalloc(r->n_items + 1, sizeof(struct runs_item *));
    for (size_t i = 0; i < RUNS_SLOTS; i++)
        for (struct runs_item *x = r->slot[i]; x; x = x->chain) {
            p->items[p->n++] = x;
            x->seen = false; /* for the next time */
        }
    SORT(p->items, p->n, picture_newest_first);
    p->v = xcalloc(p->n + 1, sizeof *p->v);
    p->about = xcalloc(p->n + 1, sizeof(struct runs_about *));
    p->issues = xcalloc(p->n + 1, sizeof *p->issues);
    for (size_t i = 0; i < p->n; i++) {
        p->items[i]->refs++;
        p->about[i] = p->items[i]->about;
        p->about[i]->refs++;
        p->v[i] = picture_entry_of(p->items[i], p->issues[i]);
    }
    return p;
}

void runs_scan(struct runs *r, bool force)
{
    const mono_ns requested = clock_mono();
    pthread_mutex_lock(&r->scan);
    const int64_t most = force ? 0 : RUNS_FRESH_MS * NS_PER_MS;
    if (r->scanned.ns && mono_diff(requested, r->scanned) <= most) {
        pthread_mutex_unlock(&r->scan);
        return;
    }
    for (size_t i = 0; i < r->n_folders; i++)
        scan_folder(r, r->folders[i]);
    scan_forget_unseen(r);
    pthread_mutex_lock(&r->lock);
    struct runs_picture *before = r->picture;
    r->picture = picture_make(r);
    r->scanned = clock_mono();
    pthread_mutex_unlock(&r->lock);
    picture_unref(r, before);
    pthread_mutex_unlock(&r->scan);
}
