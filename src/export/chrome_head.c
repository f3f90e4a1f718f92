/* SPDX-License-Identifier: Apache-2.0 */
/* chrome_head.c - what stands before the first event of a Chrome trace: everything that makes the
 * trace a run again, and then the names of processes and threads. */
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "export/chrome.h"
#include "query/samples.h"

/* ---- numbers and names ---- */

void chrome_next(struct chrome *c)
{
    if (c->some)
        buf_put(c->b, ",\n", 2);
    c->some = true;
}

void chrome_us(struct buf *b, int64_t ns)
{
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    const unsigned rest = (unsigned)(v % NS_PER_US);
    if (ns < 0)
        buf_u8(b, '-');
    buf_int(b, (int64_t)(v / NS_PER_US));
    const char digits[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                           (char)('0' + rest % 10)};
    buf_put(b, digits, sizeof digits);
}

void chrome_time(struct chrome *c, wall_ns t)
{
    chrome_us(c->b, t.ns - c->base_ns);
}

int64_t chrome_node_pid(const struct chrome *c, const char *node)
{
    for (size_t i = 0; i < c->n_nodes; i++)
        if (strcmp(c->nodes[i], node) == 0)
            return CHROME_RUN_PID + 1 + (int64_t)i;
    return CHROME_RUN_PID;
}

int64_t chrome_derived_tid(const struct chrome *c, size_t i)
{
    return (int64_t)(c->tracks.n * CHROME_LANES + i) + 1;
}

void chrome_counter_name(struct buf *b, const struct row_column *col)
{
    buf_printf(b, "%s %s", col->metric, col->entity);
}

/* ---- metadata ---- */

static void put_meta(struct chrome *c, const char *what, int64_t pid, int64_t tid, struct jw *j)
{
    chrome_next(c);
    *j = (struct jw){.out = c->b};
    jw_object(j, NULL);
    jw_str(j, "ph", "M");
    jw_str(j, "name", what);
    jw_int(j, "pid", pid);
    jw_int(j, "tid", tid);
    jw_object(j, "args");
}

static void end_meta(struct jw *j)
{
    jw_end(j);
    jw_end(j);
}

static void meta_text(struct chrome *c, const char *what, int64_t pid, int64_t tid, const char *key,
                      const char *text)
{
    struct jw j;
    put_meta(c, what, pid, tid, &j);
    jw_str(&j, key, text);
    end_meta(&j);
}

static void meta_order(struct chrome *c, const char *what, int64_t pid, int64_t tid, size_t order)
{
    struct jw j;
    put_meta(c, what, pid, tid, &j);
    jw_int(&j, "sort_index", (int64_t)order);
    end_meta(&j);
}

void chrome_name_process(struct chrome *c, int64_t pid, const char *name, size_t order)
{
    meta_text(c, "process_name", pid, 0, "name", name);
    meta_order(c, "process_sort_index", pid, 0, order);
}

void chrome_name_thread(struct chrome *c, int64_t pid, int64_t tid, const char *name, size_t order)
{
    meta_text(c, "thread_name", pid, tid, "name", name);
    meta_order(c, "thread_sort_index", pid, tid, order);
}

/* "rank 0 · python train.py · host" */
static const char *process_title(struct arena *a, const struct run_process *p)
{
    const char *what = p->worker >= 0 ? "worker" : p->rank >= 0 ? "rank" : "pid";
    const int64_t number = p->worker >= 0 ? p->worker : p->rank >= 0 ? p->rank : (int64_t)p->pid;
    return arena_printf(a, "%s %lld \xc2\xb7 %s \xc2\xb7 %s", what, (long long)number, p->name,
                        p->node);
}

static const char *track_title(struct arena *a, const struct run_track *t)
{
    const bool device = t->track.kind == TRACK_DEVICE;
    const char *what = t->detail ? " (detail)" : device ? " (GPU time)" : "";
    if (*t->track.name)
        return arena_printf(a, "%s%s", t->track.name, what);
    if (device)
        return arena_printf(a, "gpu%llu stream %llu%s", (unsigned long long)(t->track.id >> 32),
                            (unsigned long long)(t->track.id & UINT32_MAX), what);
    return arena_printf(a, "thread %llu%s", (unsigned long long)t->track.id, what);
}

static void chrome_head_name_track(struct chrome *c, size_t i)
{
    const struct run_process *p = c->tracks.v[i].process;
    if (i == 0 || c->pids[i - 1] != c->pids[i]) {
        chrome_name_process(c, c->pids[i], process_title(&c->arena, p), (size_t)c->pids[i]);
        meta_text(c, "process_labels", c->pids[i], 0, "labels",
                  arena_printf(&c->arena, "pid %u", p->pid));
    }
    chrome_name_thread(c, c->pids[i], (int64_t)(i * CHROME_LANES) + 1,
                       track_title(&c->arena, &c->tracks.v[i]), i * CHROME_LANES);
}

void chrome_names(struct chrome *c)
{
    chrome_name_process(c, CHROME_RUN_PID, arena_printf(&c->arena, "run %s", c->info->name), 0);
    for (size_t i = 0; i < c->n_nodes; i++)
        chrome_name_process(c, chrome_node_pid(c, c->nodes[i]),
                            arena_printf(&c->arena, "node %s", c->nodes[i]), 1 + i);
    for (size_t i = 0; i < c->tracks.n; i++)
        chrome_head_name_track(c, i);
}

/* ---- what makes it a run again ---- */

struct chrome_head_head {
    struct chrome *c;
    struct jw *j;
};

static void chrome_head_put_series(void *to, const struct row_group *g,
                                   const struct row_column *col)
{
    struct chrome_head_head *h = to;
    struct buf name = {0};
    chrome_counter_name(&name, col);
    buf_u8(&name, '\0');
    jw_object(h->j, NULL);
    jw_int(h->j, "pid", chrome_node_pid(h->c, g->node));
    jw_str(h->j, "counter", (const char *)name.p);
    about_series(h->j, g, col);
    jw_end(h->j);
    h->c->base_ns = MIN_OF(h->c->base_ns, g->first.ns);
    buf_free(&name);
}

static int chrome_head_tell_group(void *to, const struct row_group *g, struct err *e)
{
    (void)e;
    series_tell(to, g);
    return 0;
}

static int put_all_series(struct chrome *c, struct jw *j, struct err *e)
{
    static const struct row_sink sink = {.group = chrome_head_tell_group};
    struct chrome_head_head h = {c, j};
    struct series_teller teller = {.tell = chrome_head_put_series, .to = &h};
    jw_array(j, "series");
    const int rc = rows_read(c->job->run, &c->job->ask, &sink, &teller, e);
    jw_end(j);
    series_tell_end(&teller);
    return rc;
}

static int chrome_head_put_losses(struct chrome *c, struct jw *j, struct err *e)
{
    struct run_loss *v;
    size_t n;
    const int rc = run_losses(c->job->run, &c->arena, &v, &n, e);
    jw_array(j, "losses");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!loss_is_kept(c->info, &v[i]))
            continue;
        jw_object(j, NULL);
        about_loss(j, &v[i]);
        jw_end(j);
    }
    jw_end(j);
    return rc;
}

static int chrome_head_put_marks(struct chrome *c, struct jw *j, struct err *e)
{
    struct run_mark *v;
    size_t n;
    const int rc = run_marks(c->job->run, &c->arena, &v, &n, e);
    jw_array(j, "marks");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        jw_object(j, NULL);
        about_mark(j, &v[i]);
        jw_end(j);
    }
    jw_end(j);
    return rc;
}

static void chrome_head_put_nodes(struct chrome *c, struct jw *j)
{
    jw_array(j, "nodes");
    for (size_t i = 0; i < c->info->n_nodes; i++) {
        const struct node_info *n = &c->info->nodes[i];
        if (c->job->ask.node && strcmp(c->job->ask.node, n->id) != 0)
            continue;
        jw_object(j, NULL);
        about_node(j, c->info, n, clock_of(&c->clocks, n), export_is_part(c->job));
        jw_end(j);
    }
    jw_end(j);
}

static void put_tracks(struct chrome *c, struct jw *j)
{
    jw_array(j, "tracks");
    for (size_t i = 0; i < c->tracks.n; i++) {
        jw_object(j, NULL);
        about_track(j, &c->tracks, i);
        jw_end(j);
        c->base_ns = MIN_OF(c->base_ns, c->tracks.v[i].first.ns);
    }
    jw_end(j);
}

int chrome_head(struct chrome *c, struct err *e)
{
    struct jw j = {.out = c->b};
    jw_object(&j, NULL);
    jw_object(&j, "footplate");
    about_run(&j, c->info);
    jw_int(&j, "lanes", CHROME_LANES);
    chrome_head_put_nodes(c, &j);
    put_tracks(c, &j);
    int rc = put_all_series(c, &j, e);
    if (rc == 0)
        rc = chrome_head_put_losses(c, &j, e);
    if (rc == 0)
        rc = chrome_head_put_marks(c, &j, e);
    jw_end(&j);
    jw_str(&j, "displayTimeUnit", "ms");
    jw_int(&j, "baseTimeNanoseconds", c->base_ns);
    buf_printf(c->b, ",\n\"traceEvents\":[\n");
    return rc;
}
