/* SPDX-License-Identifier: Apache-2.0 */
/* import_tensorboard.c - event files of TensorBoard (events.out.tfevents.*): scalars and histograms
 * become training health. Tags that our own export writes become again what they were. */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "import/import_summary.h"
#include "record/event.h"

enum { TB_NAME_MOST = 1024, WORD_MOST = 32 };

struct tensorboard {
    struct summary_in in;
    int64_t last_step;   /* of scalars; -1: none yet */
    int64_t sample_step; /* of the last histogram */
    mono_ns sample_at;   /* all histograms of a step are one sample */
    bool has_sample;
    bool own; /* our export wrote the file: tags are exact */
    /* Tags that are the loss and the learning rate, by mode: the first one of each. */
    char owner[3][MODE_N][TB_NAME_MOST];
    char path[TB_NAME_MOST]; /* folder and tag */
    char args[TB_NAME_MOST + 16];
};

/* ---- names ---- */

static bool word_is_one_of(const char *word, size_t n, const char *const *words, size_t n_words)
{
    return FIND_ANY(i, n_words, strlen(words[i]) == n && strncasecmp(word, words[i], n) == 0);
}

static bool is_eval_word(const char *p, size_t n)
{
    static const char *const words[] = {"eval", "evaluation", "val", "valid", "validation", "test"};
    return word_is_one_of(p, n, words, COUNT_OF(words));
}

static bool is_mode_word(const char *p, size_t n)
{
    static const char *const words[] = {"train", "training"};
    return word_is_one_of(p, n, words, COUNT_OF(words)) || is_eval_word(p, n);
}

/* Whether a word of the path, cut at / _ - . and spaces, is one of evaluation. */
static enum event_mode mode_of_path(const char *path)
{
    for (const char *p = path; *p;) {
        const size_t n = strcspn(p, "/_-. ");
        if (is_eval_word(p, n))
            return MODE_EVAL;
        p += n + (p[n] != '\0');
    }
    return MODE_TRAIN;
}

/* Scalars with a name of our own. */
static const struct {
    const char *own;
    const char *names[12];
} known_scalars[3] = {
    {"loss",
     {"loss", "train_loss", "training_loss", "total_loss", "epoch_loss", "eval_loss", "val_loss",
      "valid_loss", "validation_loss", "test_loss", "nll", "cross_entropy"}},
    {"lr", {"lr", "learning_rate"}},
    {"grad.norm", {"grad_norm", "gradient_norm", "grad.norm"}},
};

/* The last part of the path that is no word for a mode: "loss" of "Loss/train". */
static void last_part(const char *path, char out[WORD_MOST])
{
    *out = '\0';
    for (const char *p = path; *p;) {
        const size_t n = strcspn(p, "/");
        if (n < WORD_MOST && !is_mode_word(p, n))
            snprintf(out, WORD_MOST, "%.*s", (int)n, p);
        p += n + (p[n] != '\0');
    }
}

/* The name of a scalar: of several tags that could be the loss of a mode the first one is. */
static const char *scalar_name(struct tensorboard *t, enum event_mode mode)
{
    char part[WORD_MOST];
    last_part(t->path, part);
    for (size_t k = 0; k < COUNT_OF(known_scalars); k++)
        for (size_t i = 0; i < COUNT_OF(known_scalars[k].names) && known_scalars[k].names[i]; i++) {
            if (strcasecmp(part, known_scalars[k].names[i]) != 0)
                continue;
            char *owner = t->owner[k][mode];
            if (!*owner)
                memcpy(owner, t->path, sizeof t->path);
            return strcmp(owner, t->path) == 0 ? known_scalars[k].own : t->path;
        }
    return t->path;
}

/* "rank0" of an export of ours is not part of a name. */
static const char *folder_of_names(const char *below)
{
    if (!below || strncmp(below, "rank", 4) != 0)
        return below ? below : "";
    const char *rest = below + 4 + strspn(below + 4, "0123456789");
    return *rest == '/' ? rest + 1 : *rest == '\0' ? "" : below;
}

/* Folder and tag, NULs and broken characters left as they are for import_intern. */
static void set_path(struct tensorboard *t, struct tag_text tag)
{
    const char *folder = folder_of_names(t->in.ask->hint.below);
    const size_t n = MIN_OF(strnlen(tag.p, tag.len), sizeof t->path / 2);
    snprintf(t->path, sizeof t->path, "%.*s%s%.*s", (int)sizeof t->path / 2 - 2, folder,
             *folder ? "/" : "", (int)n, tag.p);
}

/* "gradient.l2/fc.weight" of our own export: the statistic, and in *rest the tensor; else
 * HEALTH_N. */
static enum health_id own_statistic(struct tag_text tag, struct tag_text *rest)
{
    char name[WORD_MOST];
    const char *slash = memchr(tag.p, '/', tag.len);
    if (!slash || (size_t)(slash - tag.p) >= sizeof name)
        return HEALTH_N;
    snprintf(name, sizeof name, "%.*s", (int)(slash - tag.p), tag.p);
    *rest = (struct tag_text){slash + 1, tag.len - (size_t)(slash + 1 - tag.p)};
    const enum health_id id = health_find(name);
    return id == HEALTH_SCALAR || rest->len == 0 ? HEALTH_N : id;
}

/* "eval/loss" of our own export: the mode, and its word taken off. */
static enum event_mode own_mode(struct tag_text *tag)
{
    for (enum event_mode m = 0; m < MODE_N; m++) {
        const size_t n = strlen(event_mode_names[m]);
        if (tag->len > n + 1 && memcmp(tag->p, event_mode_names[m], n) == 0 && tag->p[n] == '/') {
            tag->p += n + 1;
            tag->len -= n + 1;
            return m;
        }
    }
    return MODE_TRAIN;
}

/* ---- scalars ---- */

static void mark_restart(struct tensorboard *t, mono_ns at, int64_t step)
{
    const struct sink_ops *ops = t->in.ask->sink->ops;
    struct mark m = {.id = MARK_RESTART, .at = at, .number = step};
    snprintf(m.text, sizeof m.text, "continues from step %lld after step %lld", (long long)step,
             (long long)t->last_step);
    t->in.result->count[IMPORTED_RESTARTS]++;
    if (ops->mark)
        ops->mark(t->in.ask->sink, &m);
}

/* The steps of the training loss go back: a restart. Both parts stay. */
static void watch_steps(struct tensorboard *t, const struct summary_where *w, const char *name)
{
    if (w->mode != MODE_TRAIN || strcmp(name, "loss") != 0)
        return;
    if (w->step < t->last_step)
        mark_restart(t, w->at, w->step);
    t->last_step = w->step;
}

static void put_own_scalar(struct tensorboard *t, struct summary_where w, struct tag_text tag,
                           double v)
{
    w.mode = own_mode(&tag);
    enum health_id stat = own_statistic(tag, &w.name);
    if (stat == HEALTH_N) {
        stat = HEALTH_SCALAR;
        w.name = tag;
    }
    summary_put(&t->in, &w, stat, v);
}

static void put_scalar(struct tensorboard *t, struct summary_where w, struct tag_text tag, double v)
{
    if (t->own) {
        put_own_scalar(t, w, tag, v);
        return;
    }
    set_path(t, tag);
    w.mode = mode_of_path(t->path);
    const char *name = scalar_name(t, w.mode);
    if (name != t->path) {
        snprintf(t->args, sizeof t->args, "tag=%s", t->path);
        w.args = t->args;
    }
    w.name = (struct tag_text){name, strlen(name)};
    watch_steps(t, &w, name);
    summary_put(&t->in, &w, HEALTH_SCALAR, v);
}

/* ---- histograms ---- */

struct tb_histogram {
    double min, max, num, sum, squares;
    bool has_moments;
    uint64_t counts[HEALTH_EXPONENTS];
};

/* Words that identify a tag's subject; removed where they are a separate part, so that gradient and
 * weight of a tensor have one name. */
static const struct {
    const char *word;
    enum summary_subject subject;
    bool prefix;
} histogram_words[] = {
    {"gradients", SUMMARY_GRADIENT, true}, {"gradient", SUMMARY_GRADIENT, true},
    {"grads", SUMMARY_GRADIENT, true},     {"grad", SUMMARY_GRADIENT, true},
    {"grad", SUMMARY_GRADIENT, false},     {"gradient", SUMMARY_GRADIENT, false},
    {"weights", SUMMARY_WEIGHT, true},     {"parameters", SUMMARY_WEIGHT, true},
    {"params", SUMMARY_WEIGHT, true},      {"activations", SUMMARY_OUTPUT, true},
    {"activation", SUMMARY_OUTPUT, true},  {"outputs", SUMMARY_OUTPUT, true},
    {"output", SUMMARY_OUTPUT, true},
};

static enum summary_subject histogram_subject(struct tag_text *name)
{
    for (size_t i = 0; i < COUNT_OF(histogram_words); i++) {
        const char *word = histogram_words[i].word;
        const size_t n = strlen(word);
        if (name->len < n + 2)
            continue;
        const char *end = name->p + name->len - n;
        if (histogram_words[i].prefix && strncasecmp(name->p, word, n) == 0 &&
            strchr("/.", name->p[n])) {
            name->p += n + 1;
            name->len -= n + 1;
            return histogram_words[i].subject;
        }
        if (!histogram_words[i].prefix && strncasecmp(end, word, n) == 0 &&
            strchr("/._", end[-1])) {
            name->len -= n + 1;
            return histogram_words[i].subject;
        }
    }
    return SUMMARY_WEIGHT;
}

/* Values between two limits go to the exponent of the middle. SummaryWriter's limits grow by a
 * tenth, so that this is the right one or, near a power of two, the next; its buckets below 1e-12
 * are for 0. */
static void add_bucket(struct tb_histogram *h, double left, double right, double count)
{
    const double middle = fabs(left / 2 + right / 2);
    const bool zero = left <= 0 && right >= 0 && MAX_OF(-left, right) <= 1.1e-12;
    const float f = (float)middle;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (count >= 1 && count < 0x1p48)
        h->counts[zero ? 0 : bits >> 23 & 0xff] += (uint64_t)count;
}

/* Packed doubles, or one field for each: into the room. */
static void add_doubles(const struct proto_field *f, struct buf *to)
{
    if (f->wire == PROTO_FIXED64)
        buf_u64(to, f->v);
    else if (f->wire == PROTO_BYTES && f->bytes.p)
        buf_put(to, f->bytes.p, cur_left(&f->bytes) / sizeof(double) * sizeof(double));
}

static double double_at(const struct buf *b, size_t i)
{
    double d;
    memcpy(&d, b->p + i * sizeof d, sizeof d);
    return d;
}

/* HistogramProto; false: it is damaged. */
static bool read_proto(struct cur message, struct tb_histogram *h)
{
    struct buf limits = {0}, counts = {0};
    struct proto_field f;
    double *const moments[] = {NULL, &h->min, &h->max, &h->num, &h->sum, &h->squares};
    while (proto_next(&message, &f)) {
        if (f.number >= 1 && f.number <= 5)
            *moments[f.number] = proto_real(&f);
        else if (f.number == 6 || f.number == 7)
            add_doubles(&f, f.number == 6 ? &limits : &counts);
    }
    h->has_moments = true;
    const size_t n = MIN_OF(limits.len, counts.len) / sizeof(double);
    for (size_t i = 0; i < n; i++) {
        const double left = i > 0 ? double_at(&limits, i - 1) : h->min;
        const double right = double_at(&limits, i);
        add_bucket(h, MAX_OF(left, h->min), MIN_OF(right, h->max), double_at(&counts, i));
    }
    buf_free(&limits);
    buf_free(&counts);
    return !message.bad;
}

/* TensorFlow 2: rows of left, right, count. */
static bool read_rows(const struct summary_tensor *x, struct tb_histogram *h)
{
    if (x->elements.dtype != HEALTH_FLOAT64 || x->elements.n % 3 != 0)
        return false;
    const struct buf rows = {(uint8_t *)(uintptr_t)x->elements.at, x->elements.n * sizeof(double),
                             0};
    for (size_t i = 0; i < x->elements.n; i += 3) {
        add_bucket(h, double_at(&rows, i), double_at(&rows, i + 1), double_at(&rows, i + 2));
        h->num += double_at(&rows, i + 2);
    }
    h->min = x->elements.n ? double_at(&rows, 0) : 0;
    h->max = x->elements.n ? double_at(&rows, x->elements.n - 2) : 0;
    return true;
}

/* All histograms of a step have the time of the first. */
static mono_ns sample_time(struct tensorboard *t, int64_t step, mono_ns at)
{
    if (!t->has_sample || t->sample_step != step) {
        t->has_sample = true;
        t->sample_step = step;
        t->sample_at = at;
    }
    return t->sample_at;
}

static void put_moments(struct tensorboard *t, const struct summary_where *w,
                        const struct summary_kind *k, const struct tb_histogram *h)
{
    summary_put(&t->in, w, k->min, h->min);
    summary_put(&t->in, w, k->max, h->max);
    if (!h->has_moments)
        return;
    const double mean = h->sum / h->num, square = h->squares / h->num - mean * mean;
    summary_put(&t->in, w, k->mean, mean);
    summary_put(&t->in, w, k->l2, sqrt(h->squares));
    summary_put(&t->in, w, k->std, sqrt(MAX_OF(square, 0)));
}

static void put_exponents(struct tensorboard *t, const struct summary_where *w, enum health_id stat,
                          const struct tb_histogram *h)
{
    for (int64_t i = 0; i < HEALTH_EXPONENTS; i++)
        if (h->counts[i])
            summary_put_count(&t->in, w, stat, i << 48 | (int64_t)(h->counts[i] & 0xffffffffffff));
}

/* Our own export has the exponent itself as the value, so that the bars are even. */
static bool put_own_histogram(struct tensorboard *t, struct summary_where w, struct tag_text tag,
                              struct cur message)
{
    struct proto_field f;
    struct buf limits = {0}, counts = {0};
    w.mode = own_mode(&tag);
    const enum health_id stat = own_statistic(tag, &w.name);
    if (!t->own || stat == HEALTH_N || !text_ends(health_words[stat].name, ".exponents"))
        return false;
    while (proto_next(&message, &f))
        if (f.number == 6 || f.number == 7)
            add_doubles(&f, f.number == 6 ? &limits : &counts);
    for (size_t i = 0; i < MIN_OF(limits.len, counts.len) / sizeof(double); i++) {
        const double bin = double_at(&limits, i) + 126, count = double_at(&counts, i);
        if (bin >= 0 && bin < HEALTH_EXPONENTS && count >= 1 && count < 0x1p48)
            summary_put_count(&t->in, &w, stat, (int64_t)bin << 48 | (int64_t)count);
    }
    buf_free(&limits);
    buf_free(&counts);
    return true;
}

static void put_histogram(struct tensorboard *t, struct summary_where w, struct tag_text tag,
                          const struct tb_histogram *h)
{
    set_path(t, tag);
    w.name = (struct tag_text){t->path, strlen(t->path)};
    w.mode = mode_of_path(t->path);
    const struct summary_kind *k = &summary_kinds[histogram_subject(&w.name)];
    if (!(h->num >= 1))
        return;
    put_moments(t, &w, k, h);
    put_exponents(t, &w, k->exponents, h);
}

/* ---- values ---- */

static bool take_tensor(struct tensorboard *t, struct summary_where w,
                        const struct summary_value *v)
{
    struct summary_tensor x;
    struct tb_histogram h = {0};
    const bool scalar = summary_plugin_of(v, "scalars") != NULL;
    if (!scalar && !summary_plugin_of(v, "histograms")) {
        t->in.result->count[IMPORTED_NOT_NUMBERS]++;
        return true;
    }
    if (!summary_tensor_read(v->tensor, &t->in.room, &x) || x.is_text || x.elements.n == 0)
        return false;
    if (scalar) {
        put_scalar(t, w, v->tag, summary_tensor_first(&x));
        return true;
    }
    w.at = sample_time(t, w.step, w.at);
    if (!read_rows(&x, &h))
        return false;
    put_histogram(t, w, v->tag, &h);
    return true;
}

static void tb_take_value(struct tensorboard *t, struct cur message, struct summary_where w)
{
    struct summary_value v;
    struct tb_histogram h = {0};
    bool fine = summary_value_read(message, &v);
    if (fine && v.tag.len == 0) {
        t->in.result->count[IMPORTED_NO_NAME]++;
    } else if (fine && v.has_simple) {
        put_scalar(t, w, v.tag, v.simple);
    } else if (fine && v.has_histogram) {
        w.at = sample_time(t, w.step, w.at);
        if (!put_own_histogram(t, w, v.tag, v.histogram)) {
            fine = read_proto(v.histogram, &h);
            put_histogram(t, w, v.tag, &h);
        }
    } else if (fine && v.has_tensor) {
        fine = take_tensor(t, w, &v);
    } else if (fine) {
        t->in.result->count[IMPORTED_NOT_NUMBERS]++;
    }
    t->in.result->faults.unread += !fine;
}

static void tb_take_event(void *ctx, const struct summary_event *v)
{
    struct tensorboard *t = ctx;
    struct cur summary = v->summary;
    struct proto_field f;
    struct summary_where w = {.step = v->step};
    if (v->version) {
        t->own = t->own || v->own;
        return;
    }
    if (cur_left(&summary) == 0) { /* graphs and the like */
        t->in.result->count[IMPORTED_NOT_NUMBERS]++;
        return;
    }
    if (!summary_time(&t->in, v->wall_s, &w.at))
        return;
    while (proto_next(&summary, &f))
        if (f.number == 1 && f.wire == PROTO_BYTES)
            tb_take_value(t, f.bytes, w);
    t->in.result->faults.unread += summary.bad;
}

/* ---- the importer ---- */

static int tb_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct tensorboard *t = xcalloc(1, sizeof *t);
    t->last_step = ask->hint.reached ? *ask->hint.reached : -1;
    summary_open(&t->in, ask, out, "tensorboard");
    int rc = summary_records(&t->in, tb_take_event, t, "TensorBoard", e);
    summary_close(&t->in);
    if (ask->hint.reached)
        *ask->hint.reached = t->last_step;
    if (rc == 0 && !import_gave_something(out))
        rc = err_set(e, ERR_FORMAT, "the file contains no scalars and no histograms");
    free(t);
    return rc;
}

/* ---- names of files ---- */

/* A rank in the name of a worker or of a folder above the file. */
static void tb_rank_above(const char *path, struct import_hint *h)
{
    char folder[PATH_LEN];
    import_folder_above(path, 1, folder);
    const char *name = path_base(folder);
    if (text_starts(name, "rank"))
        import_hint_rank(name, h);
}

/* events.out.tfevents.<seconds>.<host>... of TensorBoard. A training that was started again, or
 * writes several files, is one process: the names that they have decide nothing. */
static enum import_place tb_place(const char *path, struct import_hint *h)
{
    if (!strstr(path_base(path), "tfevents."))
        return PLACE_ANY;
    tb_rank_above(path, h);
    if (!h->has_rank)
        import_hint_text(h->worker, "tensorboard", sizeof "tensorboard" - 1);
    return PLACE_TRACE;
}

/* The first record is a version: "brain.Event:2". */
static int tb_sniff(const char *head, size_t n)
{
    static const char version[] = "brain.Event:";
    struct cur payload;
    if (!tfrecord_peek(head, n, &payload))
        return 0;
    return memmem(payload.p, cur_left(&payload), version, sizeof version - 1) ? 97 : 0;
}

const struct importer importer_tensorboard = {
    .name = "tensorboard",
    .help = "TensorBoard event files (events.out.tfevents.*)",
    .sniff = tb_sniff,
    .place = tb_place,
    .restarts = true,
    .run = tb_run,
};
