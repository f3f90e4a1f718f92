/* SPDX-License-Identifier: Apache-2.0 */
/* footplate_tell.c - what a record of our own exports says, told to the sinks of its place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/footplate_in.h"
#include "json/json.h"

/* What the store takes, and far from where sums overflow. */
#define TIME_MOST (INT64_MAX / 4)

/* ---- recorders ---- */

/* Skipping counts brackets and does not compare them: of damaged text it may end at a ']'. */
static bool is_object(const struct json_text *t)
{
    return t->len >= 2 && t->p[0] == '{' && t->p[t->len - 1] == '}';
}

void fp_tell_run(struct footplate *f, const struct json_text *about)
{
    if (f->ask->remake && is_object(about))
        f->ask->remake->ops->run(f->ask->remake, about->p, about->len);
}

static struct fp_node *footplate_tell_add_node(struct footplate *f, const struct remake_node *n)
{
    f->nodes = xrealloc(f->nodes, f->n_nodes + 1, sizeof *f->nodes);
    struct fp_node *x = &f->nodes[f->n_nodes++];
    *x = (struct fp_node){.session = n->session, .start = n->start};
    memcpy(x->id, n->id, strnlen(n->id, sizeof x->id - 1));
    x->offset_ns = f->ask->wall_minus_mono_ns;
    if (f->ask->remake) {
        x->offset_ns = n->clock_ahead_ns;
        f->ask->remake->ops->node(f->ask->remake, n);
    }
    return x;
}

void fp_tell_node(void *ctx)
{
    struct footplate *f = ctx;
    const struct json_item *about = &f->record.item[F_ABOUT];
    char id[IMPORT_NAME_LEN];
    fp_text(f, F_NODE, id, sizeof id);
    struct remake_node n = {
        .id = id,
        .session = (unsigned)fp_int(f, F_SESSION, 1),
        .clock_ahead_ns = fp_int(f, F_CLOCK, 0),
        .start = {fp_int(f, F_START, 0)},
        .end = {fp_int(f, F_FINISH, 0)},
    };
    if (fp_has(f, F_ABOUT) && about->kind == JS_OBJECT) {
        n.about = about->text.p;
        n.about_len = about->text.len;
    }
    if (*id && f->n_nodes < FP_NODES_MOST)
        footplate_tell_add_node(f, &n);
}

struct fp_node *fp_node(struct footplate *f, const char *id, unsigned session, wall_ns t)
{
    struct fp_node *best = NULL;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        struct fp_node *n = &f->nodes[i];
        if (strcmp(n->id, id) != 0 || (session && n->session != session))
            continue;
        if (!best || n->start.ns <= t.ns)
            best = n;
    }
    if (best || f->n_nodes == FP_NODES_MOST)
        return best;
    return footplate_tell_add_node(
        f, &(struct remake_node){.id = *id ? id : "trace", .session = session ? session : 1});
}

static struct sink *footplate_tell_sink_of(struct footplate *f, const struct remake_place *p)
{
    if (f->ask->remake)
        return f->ask->remake->ops->sink(f->ask->remake, p);
    struct sink *s = f->ask->sink_of_node ? f->ask->sink_of_node(f->ask->ctx, p->node) : NULL;
    return s ? s : f->ask->sink;
}

struct sink *fp_metrics(struct footplate *f, struct fp_node *n)
{
    if (!n->metrics)
        n->metrics = footplate_tell_sink_of(
            f, &(struct remake_place){n->id, n->session, REMAKE_METRICS, 0, 0});
    return n->metrics;
}

/* ---- losses and marks ---- */

/* False: the record says of no recorder, or no time. */
static bool where_and_when(struct footplate *f, struct fp_node **n, mono_ns *at)
{
    char id[IMPORT_NAME_LEN];
    const int64_t t = fp_int(f, F_TIME, 0);
    fp_text(f, F_NODE, id, sizeof id);
    *n = fp_node(f, id, 0, (wall_ns){t});
    return *n && !__builtin_sub_overflow(t, (*n)->offset_ns, &at->ns) && at->ns < TIME_MOST &&
           at->ns > -TIME_MOST;
}

void fp_tell_loss(void *ctx)
{
    struct footplate *f = ctx;
    struct fp_node *n;
    char what[ENTITY_LEN], why[TEXT_LEN];
    enum loss_id id = 0;
    mono_ns at;
    if (!where_and_when(f, &n, &at))
        return;
    while (id < LOSS_N && !fp_is(f, F_LOSS, losses[id].name))
        id++;
    fp_text(f, F_WHAT, what, sizeof what);
    fp_text(f, F_WHY, why, sizeof why);
    /* A cause of a newer version: its words still say what it was. */
    struct loss l = loss_from_text(id < LOSS_N ? id : LOSS_MALFORMED, what, why);
    l.count = (uint64_t)fp_int(f, F_COUNT, 1);
    l.at = at;
    struct sink *s = fp_metrics(f, n);
    s->ops->loss(s, &l);
}

void fp_tell_mark(void *ctx)
{
    struct footplate *f = ctx;
    struct fp_node *n;
    struct mark m = {.number = fp_int(f, F_NUMBER, 0)};
    if (!where_and_when(f, &n, &m.at))
        return;
    while (m.id < MARK_N && !fp_is(f, F_MARK, marks[m.id].name))
        m.id++;
    if (m.id == MARK_N) {
        f->result->count[IMPORTED_PHASES]++;
        return;
    }
    fp_text(f, F_TEXT, m.text, sizeof m.text);
    struct sink *s = fp_metrics(f, n);
    s->ops->mark(s, &m);
}

/* ---- tracks ---- */

static struct fp_track *make_track(struct footplate *f, int64_t number)
{
    if (number < 0 || number >= FP_TRACKS_MOST)
        return NULL;
    if ((uint32_t)number >= f->n_tracks) {
        const uint32_t n = (uint32_t)number + 1;
        f->tracks = xrealloc(f->tracks, MAX_OF(n, f->n_tracks), sizeof *f->tracks);
        memset(f->tracks + f->n_tracks, 0, (n - f->n_tracks) * sizeof *f->tracks);
        f->n_tracks = n;
    }
    return &f->tracks[number];
}

void fp_tell_track(void *ctx)
{
    struct footplate *f = ctx;
    char id[IMPORT_NAME_LEN];
    fp_text(f, F_NODE, id, sizeof id);
    fp_flush_events(f);
    struct fp_track *t = make_track(f, fp_int(f, F_TRACK, -1));
    const struct fp_node *n = fp_node(f, id, (unsigned)fp_int(f, F_SESSION, 1), (wall_ns){0});
    if (!t || !n) {
        f->result->count[IMPORTED_TRACKS]++;
        return;
    }
    *t = (struct fp_track){
        .track = {.kind = fp_is(f, F_ON, "device") ? TRACK_DEVICE : TRACK_THREAD,
                  .pid = (uint32_t)fp_int(f, F_OS_PID, 0),
                  .id = (uint64_t)fp_int(f, F_ID, 0)},
        .offset_ns = n->offset_ns,
        .given = true,
    };
    fp_text(f, F_PROCESS, t->track.process, sizeof t->track.process);
    fp_text(f, F_NAME, t->track.name, sizeof t->track.name);
    t->sink =
        footplate_tell_sink_of(f, &(struct remake_place){
                                      .node = n->id,
                                      .session = n->session,
                                      .file = fp_has(f, F_WINDOW) ? REMAKE_DETAIL : REMAKE_EVENTS,
                                      .pid = t->track.pid,
                                      .window = (unsigned)fp_int(f, F_WINDOW, 0),
                                  });
}

/* ---- events ---- */

void fp_flush_events(struct footplate *f)
{
    if (f->n_batch == 0)
        return;
    const struct fp_track *t = &f->tracks[f->batch_track];
    t->sink->ops->events(t->sink, &t->track, f->batch, f->n_batch);
    f->n_batch = 0;
    if (texts_full(&f->texts))
        texts_clear(&f->texts);
}

static const char *footplate_tell_keep_text(struct footplate *f, const struct json_text *t)
{
    if (!t->escaped && !t->high && t->len < EVENT_NAME_MOST)
        return texts_keep(&f->texts, t->p, t->len)->p;
    f->result->count[IMPORTED_LONG_TEXTS] += t->len >= EVENT_NAME_MOST;
    const size_t n = json_decode(t, f->text, sizeof f->text, &f->scan.faults);
    return texts_keep(&f->texts, f->text, strnlen(f->text, n))->p;
}

static void footplate_tell_note_time(struct footplate *f, int64_t begin, int64_t dur)
{
    struct import_result *r = f->result;
    const int64_t at = begin - f->ask->wall_minus_mono_ns;
    const bool first = r->count[IMPORTED_KEPT]++ == 0 && r->count[IMPORTED_READINGS] == 0;
    r->first.ns = first ? at : MIN_OF(r->first.ns, at);
    r->last.ns = first ? at + dur : MAX_OF(r->last.ns, at + dur);
}

static bool in_range(int64_t t)
{
    return t < TIME_MOST && t > -TIME_MOST;
}

/* An event of the track at wall time `at`, but for its texts. */
static void footplate_tell_put_event(struct footplate *f, int64_t number, int64_t at,
                                     struct event *v)
{
    if (number < 0 || number >= f->n_tracks || !f->tracks[number].given) {
        f->result->count[IMPORTED_TRACKS]++;
        return;
    }
    if (v->dur_ns < 0) {
        f->result->count[IMPORTED_NEGATIVE]++;
        v->dur_ns = 0;
    }
    if (!in_range(at) || !in_range(v->dur_ns) || !in_range(f->tracks[number].offset_ns)) {
        f->result->count[IMPORTED_BAD_TIME]++;
        return;
    }
    if (f->n_batch &&
        (f->batch_track != number || f->n_batch == FP_EVENTS || texts_full(&f->texts)))
        fp_flush_events(f);
    static const struct json_text empty = {.p = ""};
    const struct json_item *name = &f->record.item[F_NAME];
    v->name = footplate_tell_keep_text(f, fp_has(f, F_NAME) && name->kind == JS_STRING ? &name->text
                                                                                       : &empty);
    v->args =
        f->record.args_len ? texts_keep(&f->texts, f->record.args, f->record.args_len)->p : NULL;
    v->at.ns = at - f->tracks[number].offset_ns;
    f->batch_track = (uint32_t)number;
    f->batch[f->n_batch++] = *v;
    footplate_tell_note_time(f, at, v->dur_ns);
}

/* The whole text of the arguments, where they stand in one piece. */
static void take_whole_args(struct footplate *f, enum footplate_key k)
{
    if (!fp_has(f, k) || f->record.item[k].kind != JS_STRING)
        return;
    f->record.args_len = (uint32_t)json_decode(&f->record.item[k].text, f->record.args,
                                               sizeof f->record.args, &f->scan.faults);
}

static int64_t footplate_tell_bits_of(double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* A number, or the text that stands for what is none. */
static int64_t real_bits(const struct footplate *f, enum footplate_key k)
{
    double v = 0;
    if (fp_is(f, k, "nan"))
        return footplate_tell_bits_of((double)NAN);
    if (fp_is(f, k, "inf") || fp_is(f, k, "-inf"))
        return footplate_tell_bits_of(fp_is(f, k, "inf") ? (double)INFINITY : -(double)INFINITY);
    return json_double(&f->record.item[k], &v) ? footplate_tell_bits_of(v)
                                               : footplate_tell_bits_of(0);
}

static enum event_category footplate_tell_category_of(const struct footplate *f,
                                                      enum footplate_key k)
{
    for (enum event_category c = 0; c < CAT_N; c++)
        if (fp_is(f, k, category_words[c].name))
            return c;
    return CAT_OTHER;
}

/* What lines and traces both have. */
static struct event begin_event(const struct footplate *f)
{
    return (struct event){
        .mode = (enum event_mode)fp_word(f, F_MODE, event_mode_names, MODE_N, MODE_TRAIN),
        .end = (enum event_end)fp_word(f, F_END, event_end_names, END_OPEN + 1, END_KNOWN),
    };
}

void fp_tell_event(void *ctx)
{
    struct footplate *f = ctx;
    struct event v = begin_event(f);
    v.kind = (enum event_kind)fp_word(f, F_KIND, event_kind_names, EVENT_KIND_N, 0);
    v.category = footplate_tell_category_of(f, F_CATEGORY);
    v.dur_ns = fp_int(f, F_DURATION, 0);
    v.link = (uint64_t)fp_int(f, F_LINK, 0);
    v.parent = (uint64_t)fp_int(f, F_PARENT, 0);
    v.value = v.kind == EVENT_REAL ? real_bits(f, F_VALUE) : fp_int(f, F_VALUE, 0);
    take_whole_args(f, F_ARGS);
    if (v.kind == 0 || !fp_has(f, F_TIME))
        f->result->count[v.kind == 0 ? IMPORTED_PHASES : IMPORTED_NO_TIME]++;
    else
        footplate_tell_put_event(f, fp_int(f, F_TRACK, -1), fp_int(f, F_TIME, 0), &v);
}

/* ---- events of a trace ---- */

/* The kind by phase and category, and the value by the kind. */
static void footplate_tell_kind_of(const struct footplate *f, char ph, struct event *v)
{
    if (ph == 'X') {
        v->kind = fp_is(f, F_CAT, "step") ? EVENT_STEP : EVENT_SPAN;
        v->value = fp_int(f, v->kind == EVENT_STEP ? F_STEP : F_VALUE, 0);
    } else if (fp_has(f, F_REAL)) {
        v->kind = EVENT_REAL;
        v->value = real_bits(f, F_REAL);
    } else if (ph == 'i') {
        v->kind = EVENT_MARK;
        v->value = fp_int(f, F_VALUE, 0);
    } else {
        v->kind = EVENT_COUNT;
        v->value = fp_int(f, F_COUNT, 0);
    }
}

static bool footplate_tell_time_of(struct footplate *f, int64_t *at, int64_t *dur)
{
    *dur = 0;
    if (!fp_has(f, F_TS) || !json_us_to_ns(&f->record.item[F_TS], at)) {
        f->result->count[IMPORTED_NO_TIME]++;
        return false;
    }
    if (fp_has(f, F_DUR) && !json_us_to_ns(&f->record.item[F_DUR], dur))
        *dur = 0;
    if (__builtin_add_overflow(*at, f->base_ns, at)) {
        f->result->count[IMPORTED_BAD_TIME]++;
        return false;
    }
    return true;
}

static void tell_track_event(struct footplate *f, char ph, int64_t track)
{
    struct event v = begin_event(f);
    int64_t at;
    if (!footplate_tell_time_of(f, &at, &v.dur_ns))
        return;
    footplate_tell_kind_of(f, ph, &v);
    v.category = footplate_tell_category_of(f, v.kind == EVENT_STEP ? F_CATEGORY : F_CAT);
    v.link = (uint64_t)fp_int(f, F_CORRELATION, 0);
    v.parent = (uint64_t)fp_int(f, F_EXTERNAL, 0);
    take_whole_args(f, F_TEXT);
    footplate_tell_put_event(f, track, at, &v);
}

/* Names and arrows say what stands elsewhere too; tracks behind those of the run are derived. */
void fp_tell_trace_event(void *ctx)
{
    struct footplate *f = ctx;
    const struct json_item *ph = &f->record.item[F_PH];
    const char c = fp_has(f, F_PH) && ph->kind == JS_STRING && ph->text.len == 1 ? *ph->text.p : 0;
    const int64_t tid = fp_int(f, F_TID, 0);
    int64_t at, dur;
    if (c == 'M' || c == 's' || c == 'f') {
        f->result->count[IMPORTED_FLOWS] += c != 'M';
        return;
    }
    if (c != 'X' && c != 'i' && c != 'C') {
        f->result->count[IMPORTED_PHASES]++;
        return;
    }
    if (tid > 0 && (tid - 1) / f->lanes < f->n_tracks)
        tell_track_event(f, c, (tid - 1) / f->lanes);
    else if (c == 'C' && tid == 0 && footplate_tell_time_of(f, &at, &dur))
        fp_tell_counter(f, at);
}
