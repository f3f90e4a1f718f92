/* SPDX-License-Identifier: Apache-2.0 */
/* import_smdebug.c - trial folders of smdebug, the hook of SageMaker Debugger (debug-output): one
 * event file per saved step and worker. Tensors become statistics of training health.
 *
 *     collections/000000000/<worker>_collections.json   which tensors are losses
 *     events/<step>/<step>_<worker>.tfevents            this importer's input
 *
 * The step of an event is that of its mode. Everything in a file is one sample, at the time of its
 * first record. Weights are those before the update of the step. */
#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "import/import_summary.h"
#include "json/json.h"

enum { LISTED_MOST = 4096, TENSOR_NAME_MOST = 512 };

/* Names of a collection. */
struct name_list {
    char **v;
    size_t n, cap;
};

/* Reductions of a tensor that were stored: taken when the tensor itself does not follow. */
struct stored_reductions {
    char name[TENSOR_NAME_MOST];
    bool has[HEALTH_N];
    double v[HEALTH_N];
    struct summary_where where; /* its name is `name`, or a part of it */
};

struct smdebug {
    struct summary_in in;
    struct name_list losses, optimizer;
    struct stored_reductions stored;
    char args[TENSOR_NAME_MOST + 64];
};

static void list_free(struct name_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
}

/* Its place in the list; SIZE_MAX: it is not there. */
static size_t list_find(const struct name_list *l, struct tag_text name)
{
    const size_t at = FIND_FIRST(i, l->n, tag_text_is(name, l->v[i]));
    return at < l->n ? at : SIZE_MAX;
}

/* ---- collections ---- */

static struct name_list *list_of(struct smdebug *s, const struct json_text *collection)
{
    return json_is(collection, "losses")                ? &s->losses
           : json_is(collection, "optimizer_variables") ? &s->optimizer
                                                        : NULL;
}

static void list_add(struct name_list *l, const struct json_text *text)
{
    char name[EVENT_NAME_MOST];
    if (l->n == LISTED_MOST)
        return;
    json_decode(text, name, sizeof name, NULL);
    *VEC_ADD(l->v, l->n, l->cap) = xstrdup(name);
}

/* {"collections": {NAME: {"tensor_names": [...], ...}, ...}} */
static void read_collections(struct smdebug *s, struct json_scan *scan)
{
    enum { TOP = 1, COLLECTIONS, COLLECTION, NAMES };
    struct name_list *list = NULL;
    struct json_item it;
    unsigned depth = 0;
    for (enum json_kind k = json_next(scan, &it); !json_is_over(k); k = json_next(scan, &it)) {
        if (k == JS_END) {
            depth--;
        } else if (k == JS_OBJECT || k == JS_ARRAY) {
            const bool wanted = depth == 0 || (depth == TOP && json_is(&it.key, "collections")) ||
                                (depth == COLLECTIONS && (list = list_of(s, &it.key)) != NULL) ||
                                (depth == COLLECTION && json_is(&it.key, "tensor_names"));
            if (wanted)
                depth++;
            else if (json_is_over(json_skip(scan, NULL)))
                return;
        } else if (k == JS_STRING && depth == NAMES) {
            list_add(list, &it.text);
        }
    }
}

/* <trial>/events/<step>/<step>_<worker>.tfevents */
static bool collections_path(const struct import_hint *h, char out[PATH_LEN])
{
    char root[PATH_LEN];
    struct err ignored;
    if (!h->path || !*h->worker || path_join(root, &ignored, "%s", h->path) != 0)
        return false;
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(root, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return path_join(out, &ignored, "%s/collections/000000000/%s_collections.json", root,
                     h->worker) == 0;
}

static void find_collections(struct smdebug *s)
{
    char path[PATH_LEN];
    struct bytes_file file;
    struct json_scan scan;
    if (!collections_path(&s->in.ask->hint, path))
        return;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    bytes_file_init(&file, fd, path);
    json_open(&scan, &file.in, &(struct json_options){0});
    read_collections(s, &scan);
    json_close(&scan);
    close(fd);
}

/* ---- what a tensor is ---- */

static bool text_has(struct tag_text t, const char *part)
{
    return memmem(t.p, t.len, part, strlen(part)) != NULL;
}

/* Takes `start` off the front; false: it is not there. */
static bool take_start(struct tag_text *t, const char *start)
{
    const size_t n = strlen(start);
    if (t->len <= n || memcmp(t->p, start, n) != 0)
        return false;
    t->p += n;
    t->len -= n;
    return true;
}

static bool take_end(struct tag_text *t, const char *end)
{
    const size_t n = strlen(end);
    if (t->len <= n || memcmp(t->p + t->len - n, end, n) != 0)
        return false;
    t->len -= n;
    return true;
}

/* "conv_output_0": takes "_output_0" off. A module's first tensor has the module's name, its second
 * one "conv:1". */
static bool take_port(struct tag_text *t, const char *port, char own[TENSOR_NAME_MOST])
{
    const size_t digits = FIND_FIRST(k, t->len, !isdigit((unsigned char)t->p[t->len - 1 - k]));
    struct tag_text rest = {t->p, t->len - digits};
    if (digits == 0 || !take_end(&rest, port))
        return false;
    if (digits == 1 && t->p[t->len - 1] == '0') {
        *t = rest;
        return true;
    }
    const int n = snprintf(own, TENSOR_NAME_MOST, "%.*s:%.*s", (int)MIN_OF(rest.len, 400u), rest.p,
                           (int)MIN_OF(digits, 20u), t->p + t->len - digits);
    *t = (struct tag_text){own, (size_t)n};
    return true;
}

/* Modules whose input shows how the layers before it scale: see PoorWeightInitialization. */
static bool is_activation(struct tag_text name)
{
    static const char *const words[] = {"relu",    "ReLU", "tanh", "Tanh",  "sigmoid",
                                        "Sigmoid", "gelu", "GELU", "silu",  "SiLU",
                                        "elu",     "ELU",  "act",  "swish", "softplus"};
    return FIND_ANY(i, COUNT_OF(words), text_has(name, words[i]));
}

/* The subject, and the name without the part that identifies it. */
static enum summary_subject subject_of(const struct smdebug *s, struct tag_text *name,
                                       char own[TENSOR_NAME_MOST])
{
    if (list_find(&s->optimizer, *name) != SIZE_MAX)
        return SUMMARY_OPTIMIZER;
    if (take_start(name, "gradient/"))
        return SUMMARY_GRADIENT;
    if (take_start(name, "gradients/")) { /* Keras */
        take_end(name, "Grad");
        return SUMMARY_GRADIENT;
    }
    if (take_port(name, "_output_", own))
        return SUMMARY_OUTPUT;
    if (take_port(name, "_input_", own))
        return is_activation(*name) ? SUMMARY_ACTIVATION_INPUT : SUMMARY_INPUT;
    return SUMMARY_WEIGHT;
}

/* The place of a loss among the losses; SIZE_MAX: it is not a loss. Without collections, as smdebug
 * itself decides: a tensor whose name matches [Ll]oss_(?!input).*output. */
static size_t loss_place(const struct smdebug *s, struct tag_text name)
{
    const size_t listed = list_find(&s->losses, name);
    if (listed != SIZE_MAX || s->losses.n)
        return listed;
    return tag_text_is(name, "loss") || (text_has(name, "oss_") && text_has(name, "output"))
               ? 0
               : SIZE_MAX;
}

/* ---- reductions ---- */

/* The statistic that a stored reduction is of; HEALTH_N: none that means the same. Standard
 * deviations are not ours: they are divided by n - 1. */
static enum health_id reduction_of(struct tag_text op, const struct summary_kind *k)
{
    return tag_text_is(op, "min")    ? k->min
           : tag_text_is(op, "max")  ? k->max
           : tag_text_is(op, "mean") ? k->mean
           : tag_text_is(op, "l1")   ? k->l1
           : tag_text_is(op, "l2")   ? k->l2
                                     : HEALTH_N;
}

static void put_stored(struct smdebug *s)
{
    struct stored_reductions *r = &s->stored;
    for (enum health_id id = 0; id < HEALTH_N && *r->name; id++)
        if (r->has[id])
            summary_put(&s->in, &r->where, id, r->v[id]);
    memset(r->has, 0, sizeof r->has);
    r->name[0] = '\0';
}

/* smdebug/reductions/[abs_]OP/TENSOR, without the first two parts */
static void take_reduction(struct smdebug *s, const struct summary_where *w, struct tag_text rest,
                           double v)
{
    struct stored_reductions *r = &s->stored;
    const char *slash = memchr(rest.p, '/', rest.len);
    if (!slash) {
        s->in.result->count[IMPORTED_NO_METRIC]++;
        return;
    }
    const struct tag_text op = {rest.p, (size_t)(slash - rest.p)};
    const struct tag_text tensor = {slash + 1, rest.len - op.len - 1};
    if (!tag_text_is(tensor, r->name))
        put_stored(s);
    snprintf(r->name, sizeof r->name, "%.*s", (int)MIN_OF(tensor.len, sizeof r->name - 1),
             tensor.p);
    char own[TENSOR_NAME_MOST];
    struct tag_text name = {r->name, strlen(r->name)};
    const enum summary_subject subject = subject_of(s, &name, own);
    const enum health_id stat = reduction_of(op, &summary_kinds[subject]);
    if (name.p == own) /* it is in the local buffer */
        name = (struct tag_text){r->name, strlen(r->name)};
    r->where = *w;
    r->where.name = name;
    if (stat == HEALTH_N)
        return;
    r->has[stat] = true;
    r->v[stat] = v;
}

/* ---- values ---- */

static void put_loss(struct smdebug *s, struct summary_where w, size_t place, double v)
{
    char name[32];
    if (place == 0)
        snprintf(name, sizeof name, "loss");
    else
        snprintf(name, sizeof name, "loss.%zu", place);
    snprintf(s->args, sizeof s->args, "tensor=%.*s", (int)MIN_OF(w.name.len, 400u), w.name.p);
    w.name = (struct tag_text){name, strlen(name)};
    w.args = s->args;
    summary_put(&s->in, &w, HEALTH_SCALAR, v);
}

static void put_scalar(struct smdebug *s, struct summary_where w, double v)
{
    static const char importance[] = "feature_importance/";
    take_start(&w.name, "scalar/");
    if (w.name.len > sizeof importance && memcmp(w.name.p, importance, sizeof importance - 1) == 0)
        take_start(&w.name, "feature_");
    summary_put(&s->in, &w, HEALTH_SCALAR, v);
}

static void put_tensor(struct smdebug *s, struct summary_where w, const struct summary_tensor *t)
{
    char own[TENSOR_NAME_MOST];
    const struct tag_text whole = w.name;
    const enum summary_subject subject = subject_of(s, &w.name, own);
    if (*s->stored.name && tag_text_is(whole, s->stored.name)) { /* computed below */
        memset(s->stored.has, 0, sizeof s->stored.has);
        s->stored.name[0] = '\0';
    }
    summary_put_tensor(&s->in, &w, subject, t);
    if (subject == SUMMARY_WEIGHT)
        summary_put(&s->in, &w, HEALTH_PARAMETER_DIMS, (double)t->n_dims);
}

static void put_numbers(struct smdebug *s, struct summary_where w, const struct summary_tensor *t)
{
    struct tag_text rest = w.name;
    const size_t place = loss_place(s, w.name);
    if (take_start(&rest, "smdebug/reductions/"))
        take_reduction(s, &w, rest, summary_tensor_first(t));
    else if (place != SIZE_MAX && t->elements.n == 1)
        put_loss(s, w, place, summary_tensor_first(t));
    else if (t->elements.n == 1 && t->n_dims <= 1 && !text_has(w.name, "gradient") &&
             !text_has(w.name, "_output_") && !text_has(w.name, "_input_") &&
             !text_has(w.name, "weight") && !text_has(w.name, "bias"))
        put_scalar(s, w, summary_tensor_first(t));
    else
        put_tensor(s, w, t);
}

static bool number_of(const struct summary_plugin *p, int64_t *out)
{
    return p && import_digits(p->content.p, p->content.len, out);
}

static void take_value(struct smdebug *s, struct cur message, int64_t step)
{
    static const enum event_mode modes[] = {MODE_TRAIN, MODE_TRAIN, MODE_EVAL, MODE_PREDICT,
                                            MODE_TRAIN};
    struct summary_value v;
    struct summary_tensor t;
    int64_t mode = 0;
    if (!summary_value_read(message, &v) ||
        (v.has_tensor && !summary_tensor_read(v.tensor, &s->in.room, &t))) {
        s->in.result->faults.unread++;
        return;
    }
    if (!v.has_tensor || t.is_text || t.elements.n == 0) {
        s->in.result->count[IMPORTED_NOT_NUMBERS]++;
        return;
    }
    if (v.tag.len == 0) {
        s->in.result->count[IMPORTED_NO_NAME]++;
        return;
    }
    (void)number_of(summary_plugin_of(&v, "mode_step"), &step);
    if (!number_of(summary_plugin_of(&v, "mode"), &mode) || mode >= (int64_t)COUNT_OF(modes))
        mode = 0;
    put_numbers(
        s, (struct summary_where){.at = s->in.at, .step = step, .mode = modes[mode], .name = v.tag},
        &t);
}

static void take_event(void *ctx, const struct summary_event *v)
{
    struct smdebug *s = ctx;
    struct cur summary = v->summary;
    struct proto_field f;
    if (!s->in.timed)
        s->in.timed = summary_time(&s->in, v->wall_s, &s->in.at);
    while (s->in.timed && proto_next(&summary, &f))
        if (f.number == 1 && f.wire == PROTO_BYTES)
            take_value(s, f.bytes, v->step);
    s->in.result->faults.unread += summary.bad;
}

/* ---- the importer ---- */

static int smdebug_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct smdebug *s = xcalloc(1, sizeof *s);
    summary_open(&s->in, ask, out, "smdebug");
    s->in.records.fixed_footer = true;
    find_collections(s);
    int rc = summary_records(&s->in, take_event, s, "smdebug", e);
    put_stored(s);
    summary_close(&s->in);
    if (rc == 0 && !import_gave_something(out))
        rc = err_set(e, ERR_FORMAT, "the file contains no numbers");
    list_free(&s->losses);
    list_free(&s->optimizer);
    free(s);
    return rc;
}

/* ---- names of files ---- */

/* events/<step>/<step>_<worker>.tfevents of smdebug, where a worker is often worker_<rank>. */
static enum import_place smdebug_tensor_place(const char *path, struct import_hint *h)
{
    const char *name = path_base(path);
    static const char worker[] = "worker_";
    const size_t digits = import_digits_at(name), n = strlen(name), end = sizeof ".tfevents" - 1;
    if (digits != 12 || name[digits] != '_' || !text_ends(name, ".tfevents") || n <= 13 + end)
        return PLACE_ANY;
    import_hint_text(h->worker, name + 13, n - end - 13);
    int64_t rank;
    h->has_rank =
        text_starts(h->worker, worker) &&
        import_digits(h->worker + sizeof worker - 1, strlen(h->worker + sizeof worker - 1), &rank);
    h->rank = h->has_rank ? rank : 0;
    return PLACE_TRACE;
}

/* index/<...>/<step>_<worker>.json of smdebug: all its data is in the event file, unless that
 * is missing. */
static enum import_place smdebug_index_place(const char *path, struct import_hint *h)
{
    char root[PATH_LEN], events[PATH_LEN];
    struct err ignored;
    const char *name = path_base(path);
    import_folder_above(path, 2, root);
    const size_t digits = import_digits_at(name), n = strlen(name), end = sizeof ".json" - 1;
    if (strcmp(path_base(root), "index") != 0 || digits != 12 || name[digits] != '_' ||
        !text_ends(name, ".json"))
        return PLACE_ANY;
    import_folder_above(path, 3, root);
    if (path_join(events, &ignored, "%s/events/%.12s/%.*s.tfevents", root, name, (int)(n - end),
                  name) != 0)
        return PLACE_ANY;
    if (access(events, F_OK) == 0) {
        h->skipped = "an index of an event file, which is read itself";
        return PLACE_SKIPPED;
    }
    h->skipped = "an index whose event file is missing";
    return PLACE_LOST;
}

static enum import_place smdebug_place(const char *path, struct import_hint *h)
{
    const enum import_place place = smdebug_tensor_place(path, h);
    return place != PLACE_ANY ? place : smdebug_index_place(path, h);
}

/* Records that begin with a time. TensorBoard's begin with a version, and its importer is surer. */
static int smdebug_sniff(const char *head, size_t n)
{
    struct cur payload;
    struct proto_field f;
    if (!tfrecord_peek(head, n, &payload))
        return 0;
    return proto_next(&payload, &f) && f.number == 1 && f.wire == PROTO_FIXED64 ? 90 : 0;
}

const struct importer importer_smdebug = {
    .name = "smdebug",
    .help = "SageMaker Debugger tensors (debug-output, events/*/*.tfevents)",
    .sniff = smdebug_sniff,
    .place = smdebug_place,
    .run = smdebug_run,
};
