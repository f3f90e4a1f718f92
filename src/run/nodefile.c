/* SPDX-License-Identifier: Apache-2.0 */
/* nodefile.c - see nodefile.h. */
#include "run/nodefile.h"

#include <math.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "run/run_names.h"

/* Empty text and negative numbers mean not known, which is null in JSON. */
static void text_or_null(struct jw *j, const char *key, const char *v)
{
    jw_str(j, key, v && *v ? v : NULL);
}

static void int_or_null(struct jw *j, const char *key, int64_t v, bool known)
{
    if (known)
        jw_int(j, key, v);
    else
        jw_null(j, key);
}

static void nodefile_host_json(struct jw *j, const struct hostinfo *h)
{
    text_or_null(j, "host", h->hostname);
    text_or_null(j, "boot_id", h->boot_id);
    text_or_null(j, "kernel", h->kernel);
    text_or_null(j, "cpu_model", h->cpu_model);
    int_or_null(j, "cores", h->cores, h->cores > 0);
    int_or_null(j, "memory_bytes", (int64_t)h->memory_bytes, h->memory_bytes > 0);
    text_or_null(j, "machine_vendor", h->dmi_vendor);
    text_or_null(j, "machine", h->dmi_product);
}

static void nodefile_gpus_json(struct jw *j, const struct node_about *a)
{
    if (!a->gpus_known) {
        jw_null(j, "gpus");
        return;
    }
    jw_array(j, "gpus");
    for (unsigned i = 0; i < a->n_gpus; i++) {
        const struct gpu_info *g = &a->gpus[i];
        jw_object(j, NULL);
        jw_str(j, "entity", g->entity);
        text_or_null(j, "name", g->name);
        text_or_null(j, "uuid", g->uuid);
        text_or_null(j, "driver", g->driver);
        int_or_null(j, "memory_bytes", (int64_t)g->memory_bytes, g->memory_bytes > 0);
        jw_end(j);
    }
    jw_end(j);
    text_or_null(j, "gpu_absent", a->gpu_absent);
}

static void launcher_json(struct jw *j, const struct launcher *l)
{
    if (!*l->name) {
        jw_null(j, "launcher");
        return;
    }
    jw_object(j, "launcher");
    jw_str(j, "name", l->name);
    int_or_null(j, "rank", l->rank, l->rank >= 0);
    int_or_null(j, "world_size", l->world_size, l->world_size >= 0);
    int_or_null(j, "local_rank", l->local_rank, l->local_rank >= 0);
    int_or_null(j, "local_size", l->local_size, l->local_size >= 0);
    int_or_null(j, "node_rank", l->node_rank, l->node_rank >= 0);
    int_or_null(j, "nodes", l->nodes, l->nodes >= 0);
    text_or_null(j, "job_id", l->job_id);
    text_or_null(j, "step", l->step);
    text_or_null(j, "source", l->source);
    jw_end(j);
}

static void self_json(struct jw *j, const struct node_about *a)
{
    if (a->cpu_s < 0) {
        jw_null(j, "self");
        return;
    }
    jw_object(j, "self");
    jw_num(j, "cpu_s", a->cpu_s);
    jw_int(j, "bytes_written", (int64_t)a->stats.bytes_written);
    jw_int(j, "rows", (int64_t)a->stats.rows);
    jw_int(j, "samples", (int64_t)a->stats.samples);
    jw_int(j, "rows_dropped", (int64_t)a->stats.rows_dropped);
    jw_int(j, "events", (int64_t)a->stats.events);
    jw_int(j, "events_dropped", (int64_t)a->stats.events_dropped);
    jw_end(j);
}

static void about_json(struct buf *out, const struct node_about *a)
{
    struct jw j = {.out = out, .indent = 2};
    jw_object(&j, NULL);
    jw_int(&j, "format_version", 1);
    jw_str(&j, "id", a->id);
    jw_int(&j, "session", a->session);
    jw_str(&j, "status", run_status_name(a->status));
    jw_str(&j, "why", a->why);
    nodefile_host_json(&j, &a->host);
    jw_int(&j, "pid", a->pid);
    nodefile_gpus_json(&j, a);
    launcher_json(&j, &a->launcher);
    text_or_null(&j, "machine_type", a->machine_type);
    jw_num(&j, "price_per_hour", a->price_per_hour > 0 ? a->price_per_hour : NAN);
    jw_str(&j, "currency", a->currency);
    jw_int(&j, "interval_ns", a->interval_ns);
    if (a->ship_interval_ns)
        jw_int(&j, RUN_NODE_SHIP, a->ship_interval_ns);
    jw_int(&j, "start_ns", a->start.ns);
    int_or_null(&j, "end_ns", a->end.ns, a->end.ns != 0);
    int_or_null(&j, "exit_status", a->exit_status, a->exit_status >= 0);
    if (a->attached)
        jw_bool(&j, "attached", true);
    self_json(&j, a);
    jw_end(&j);
    buf_u8(out, '\n');
}

void nodefile_init(struct nodefile *f, const struct rundir *dir, const struct node_about *about)
{
    pthread_mutex_init(&f->lock, NULL);
    f->about = *about;
    f->dirty = true;
    f->dir = dir;
}

struct node_about *nodefile_lock(struct nodefile *f)
{
    pthread_mutex_lock(&f->lock);
    return &f->about;
}

void nodefile_unlock(struct nodefile *f)
{
    f->dirty = true;
    pthread_mutex_unlock(&f->lock);
}

int nodefile_write(struct nodefile *f, struct err *e)
{
    struct buf b = {0};
    pthread_mutex_lock(&f->lock);
    const bool dirty = f->dirty;
    if (dirty)
        about_json(&b, &f->about);
    f->dirty = false;
    pthread_mutex_unlock(&f->lock);
    if (!dirty)
        return 0;
    const int rc = rundir_put_node(f->dir, f->about.id, f->about.session, b.p, b.len, e);
    buf_free(&b);
    if (rc) {
        pthread_mutex_lock(&f->lock);
        f->dirty = true;
        pthread_mutex_unlock(&f->lock);
    }
    return rc;
}
