/* SPDX-License-Identifier: Apache-2.0 */
/* export_tensorboard.c - training health as event files of TensorBoard: one file for each process,
 * in a folder for each rank where there are several.
 *
 *     loss, eval/loss                 scalars; a mode other than training is before the name
 *     gradient.l2/layer4.conv.weight  a statistic of a tensor, as a scalar
 *     gradient.exponents/...          a histogram over the binary exponents of the values
 *
 * Sums of words and hashes are left out: they do not fit into a float. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/tfrecord.h"
#include "base/vec.h"
#include "export/export.h"
#include "query/health.h"

enum { EXPONENTS = 256, EXPONENT_BIAS = 127, TAG_MOST = EVENT_NAME_MOST + 64 };

/* The histogram of a tensor that is being read. */
struct tb_exponents {
    const char *name;
    uint64_t counts[EXPONENTS];
};

struct tb_writer {
    const struct export_job *job;
    const struct health_index *index;
    const struct run_process *process; /* whose file is open; NULL: none */
    struct outfile out;
    struct buf event, summary, value, histogram;
    /* Histograms of one sample. */
    struct tb_exponents *bins;
    size_t n_bins, cap_bins;
    struct health_value sample;
    char tag[TAG_MOST];
    int rc;
    struct err *e;
};

/* ---- files ---- */

static int tb_path(const struct tb_writer *t, const struct health_value *v, char out[PATH_LEN])
{
    char name[PATH_LEN];
    TRY(path_join(name, t->e, "events.out.tfevents.%010lld.%s.%u.%u",
                  (long long)(v->at.ns / NS_PER_S), v->process->node, v->process->pid,
                  v->process->session));
    if (t->index->n_ranks < 2)
        return path_join(out, t->e, "%s/%s", t->job->folder, name);
    TRY(path_join(out, t->e, "%s/rank%lld", t->job->folder, (long long)v->rank));
    TRY(dir_make(out, t->e));
    return path_join(out, t->e, "%s/rank%lld/%s", t->job->folder, (long long)v->rank, name);
}

static int tb_begin(struct tb_writer *t, const struct health_value *v)
{
    static const char version[] = "brain.Event:2", writer[] = "footplate";
    char path[PATH_LEN];
    TRY(tb_path(t, v, path));
    TRY(outfile_open(&t->out, path, t->e));
    t->process = v->process;
    t->event.len = 0;
    proto_put_double(&t->event, 1, (double)v->at.ns / 1e9);
    proto_put_bytes(&t->event, 3, version, sizeof version - 1);
    t->value.len = 0;
    proto_put_bytes(&t->value, 1, writer, sizeof writer - 1);
    proto_put_bytes(&t->event, 10, t->value.p, t->value.len);
    tfrecord_put(&t->out.buf, t->event.p, t->event.len);
    return 0;
}

static void tb_end(struct tb_writer *t)
{
    if (t->process)
        t->rc = outfile_close(&t->out, t->rc, t->e);
    t->process = NULL;
}

/* t->value as the only value of an event. */
static void tb_put_event(struct tb_writer *t, const struct health_value *v)
{
    t->summary.len = t->event.len = 0;
    proto_put_bytes(&t->summary, 1, t->value.p, t->value.len);
    proto_put_double(&t->event, 1, (double)v->at.ns / 1e9);
    if (v->step > 0)
        proto_put_varint(&t->event, 2, (uint64_t)v->step);
    proto_put_bytes(&t->event, 5, t->summary.p, t->summary.len);
    tfrecord_put(&t->out.buf, t->event.p, t->event.len);
    if (t->rc == 0)
        t->rc = outfile_pass(&t->out, t->e);
}

/* "eval/loss": a name that begins with a mode itself gets its mode in any case. */
static bool tb_begins_with_mode(const char *name)
{
    for (enum event_mode m = 0; m < MODE_N; m++)
        if (text_starts(name, event_mode_names[m]) && name[strlen(event_mode_names[m])] == '/')
            return true;
    return false;
}

static void tb_set_tag(struct tb_writer *t, const struct health_value *v, const char *name)
{
    const bool scalar = v->stat == HEALTH_SCALAR;
    const bool has_mode = v->mode != MODE_TRAIN || (scalar && tb_begins_with_mode(name));
    snprintf(t->tag, sizeof t->tag, "%s%s%s%s%s", has_mode ? event_mode_names[v->mode] : "",
             has_mode ? "/" : "", scalar ? "" : health_words[v->stat].name, scalar ? "" : "/",
             name);
    t->value.len = 0;
    proto_put_bytes(&t->value, 1, t->tag, strlen(t->tag));
}

/* ---- histograms ---- */

/* The value of a bar is the exponent: a value v is in the bar of floor(log2 |v|). Zeros are in the
 * bar of -127, values that are not finite in that of 128. */
static void tb_put_histogram(struct tb_writer *t, const struct tb_exponents *x)
{
    int first = 0, end = EXPONENTS;
    double num = 0, sum = 0, squares = 0;
    struct buf *h = &t->histogram;
    struct buf limits = {0}, counts = {0};
    while (first < end && x->counts[first] == 0)
        first++;
    while (end > first && x->counts[end - 1] == 0)
        end--;
    for (int i = first; i < end; i++) {
        const double count = (double)x->counts[i], at = i - EXPONENT_BIAS;
        num += count;
        sum += count * (at + 0.5);
        squares += count * (at + 0.5) * (at + 0.5);
        buf_f64(&limits, at + 1);
        buf_f64(&counts, count);
    }
    h->len = 0;
    proto_put_double(h, 1, first - EXPONENT_BIAS);
    proto_put_double(h, 2, end - EXPONENT_BIAS);
    proto_put_double(h, 3, num);
    proto_put_double(h, 4, sum);
    proto_put_double(h, 5, squares);
    proto_put_bytes(h, 6, limits.p, limits.len);
    proto_put_bytes(h, 7, counts.p, counts.len);
    buf_free(&limits);
    buf_free(&counts);
    tb_set_tag(t, &t->sample, x->name);
    proto_put_bytes(&t->value, 5, h->p, h->len);
    tb_put_event(t, &t->sample);
}

static void tb_put_histograms(struct tb_writer *t)
{
    for (size_t i = 0; i < t->n_bins && t->rc == 0; i++)
        tb_put_histogram(t, &t->bins[i]);
    t->n_bins = 0;
}

static bool tb_same_sample(const struct health_value *a, const struct health_value *b)
{
    return a->stat == b->stat && a->at.ns == b->at.ns && a->step == b->step &&
           a->process == b->process;
}

/* The newest one is mostly it. */
static struct tb_exponents *tb_bins_of(struct tb_writer *t, const char *name)
{
    for (size_t i = t->n_bins; i > 0; i--)
        if (t->bins[i - 1].name == name)
            return &t->bins[i - 1];
    struct tb_exponents *x = VEC_ADD(t->bins, t->n_bins, t->cap_bins);
    *x = (struct tb_exponents){.name = name};
    return x;
}

static void tb_add_exponent(struct tb_writer *t, const struct health_value *v)
{
    if (t->n_bins && !tb_same_sample(&t->sample, v))
        tb_put_histograms(t);
    t->sample = *v;
    tb_bins_of(t, v->name)->counts[health_bin_exponent(v->event.value)] +=
        health_bin_count(v->event.value);
}

/* ---- values ---- */

/* Whole numbers that are exact in a float. */
static bool tb_fits(const struct health_value *v)
{
    return v->event.kind == EVENT_REAL || llabs(v->event.value) <= 1 << 24;
}

static void tb_put_number(struct tb_writer *t, const struct health_value *v)
{
    if (v->stat == HEALTH_WEIGHT_SUM || !tb_fits(v))
        return;
    tb_set_tag(t, v, v->name);
    proto_put_float(&t->value, 2, (float)health_number(&v->event));
    tb_put_event(t, v);
}

static void tb_take(void *ctx, const struct health_value *v)
{
    struct tb_writer *t = ctx;
    const struct series_ask *ask = &t->job->ask;
    if (t->rc != 0 || (ask->node && strcmp(ask->node, v->process->node) != 0))
        return;
    if (t->process != v->process) {
        tb_put_histograms(t);
        tb_end(t);
        if (t->rc == 0)
            t->rc = tb_begin(t, v);
    }
    if (t->rc != 0)
        return;
    if (text_ends(health_words[v->stat].name, ".exponents")) {
        tb_add_exponent(t, v);
        return;
    }
    tb_put_histograms(t);
    tb_put_number(t, v);
}

static int write_tensorboard(const struct export_job *job, struct err *e)
{
    struct arena a = {0};
    struct health_index index;
    struct tb_writer *t = xcalloc(1, sizeof *t);
    const struct health_ask ask = {-1, HEALTH_ALL, job->ask.from, job->ask.to};
    t->job = job;
    t->index = &index;
    t->e = e;
    int rc = health_index(job->run, &a, &index, e);
    if (rc == 0 && index.values == 0)
        rc = err_set(e, ERR_NOT_FOUND, "run '%s' has no training health",
                     run_get_info(job->run)->name);
    if (rc == 0)
        rc = health_read(job->run, &ask, &a, tb_take, t, e);
    if (t->rc == 0)
        t->rc = rc;
    if (t->process)
        tb_put_histograms(t);
    tb_end(t);
    rc = t->rc != 0 ? t->rc : rc;
    buf_free(&t->event);
    buf_free(&t->summary);
    buf_free(&t->value);
    buf_free(&t->histogram);
    free(t->bins);
    free(t);
    arena_free(&a);
    return rc;
}

const struct export_format export_tensorboard = {
    .name = "tensorboard",
    .folder = true,
    .can = 1u << EXPORT_ALL,
    .otherwise = EXPORT_ALL,
    .write = write_tensorboard,
};
