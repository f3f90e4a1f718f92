/* SPDX-License-Identifier: Apache-2.0 */
/* footplate_records.c - the records of our own exports, passed to the sinks of their places. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/footplate_internal.h"
#include "json/json.h"

/* What the store takes, and far from where sums overflow. */
#define TIME_MOST (INT64_MAX / 4)

/* ---- recorders ---- */

/* Skipping counts brackets and does not compare them: of damaged text it may end at a ']'. */
static bool is_object(const struct json_text *t)
{
    return t->len >= 2 && t->p[0] == '{' && t->p[t->len - 1] == '}';
}

void fp_put_run(struct footplate *f, const struct json_text *about)
{
    if (f->ask->remake && is_object(about))
        f->ask->remake->ops->run(f->ask->remake, about->p, about->len);
}

static struct fp_node *fp_add_node(struct footplate *f, const struct remake_node *n)
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

void fp_put_node(void *ctx)
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
        fp_add_node(f, &n);
}

/* The recorder, made when no record described it; session 0: the one that the time belongs to. */
static struct fp_node *fp_node(struct footplate *f, const char *id, unsigned session, wall_ns t)
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
    return fp_add_node(
        f, &(struct remake_node){.id = *id ? id : "trace", .session = session ? session : 1});
}

static struct sink *fp_sink_of(struct footplate *f, const struct remake_place *p)
{
    if (f->ask->remake)
        return f->ask->remake->ops->sink(f->ask->remake, p);
    struct sink *s = f->ask->sink_of_node ? f->ask->sink_of_node(f->ask->ctx, p->node) : NULL;
    return s ? s : f->ask->sink;
}

static struct sink *fp_metrics(struct footplate *f, struct fp_node *n)
{
    if (!n->metrics)
        n->metrics = fp_sink_of(f, &(struct remake_place){n->id, n->session, REMAKE_METRICS, 0, 0});
    return n->metrics;
}

/* ---- losses and marks ---- */

/* False: the record names no recorder, or no time. */
static bool where_and_when(struct footplate *f, struct fp_node **n, mono_ns *at)
{
    char id[IMPORT_NAME_LEN];
    const int64_t t = fp_int(f, F_TIME, 0);
    fp_text(f, F_NODE, id, sizeof id);
    *n = fp_node(f, id, 0, (wall_ns){t});
    return *n && !__builtin_sub_overflow(t, (*n)->offset_ns, &at->ns) && at->ns < TIME_MOST &&
           at->ns > -TIME_MOST;
}

void fp_put_loss(void *ctx)
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
    /* A cause of a newer version: its text still describes it. */
    struct loss l = loss_from_text(id < LOSS_N ? id : LOSS_MALFORMED, what, why);
    l.count = (uint64_t)fp_int(f, F_COUNT, 1);
    l.at = at;
    struct sink *s = fp_metrics(f, n);
    s->ops->loss(s, &l);
}

void fp_put_mark(void *ctx)
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

void fp_put_track(void *ctx)
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
        .track = {.kind = fp_is(f, F_ON, "device")   ? TRACK_DEVICE
                          : fp_is(f, F_ON, "health") ? TRACK_HEALTH
                                                     : TRACK_THREAD,
                  .pid = (uint32_t)fp_int(f, F_OS_PID, 0),
                  .id = (uint64_t)fp_int(f, F_ID, 0)},
        .offset_ns = n->offset_ns,
        .given = true,
    };
    fp_text(f, F_PROCESS, t->track.process, sizeof t->track.process);
    fp_text(f, F_NAME, t->track.name, sizeof t->track.name);
    t->sink = fp_sink_of(f, &(struct remake_place){
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

static bool in_range(int64_t t)
{
    return t < TIME_MOST && t > -TIME_MOST;
}

/* An event of the track at wall time `at`, but for its texts. */
static void fp_put_event(struct footplate *f, int64_t number, int64_t at, struct event *v)
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
    v->name = import_intern(&f->texts,
                            fp_has(f, F_NAME) && name->kind == JS_STRING ? &name->text : &empty,
                            f->result, &f->scan.faults)
                  ->p;
    v->args =
        f->record.args_len ? texts_intern(&f->texts, f->record.args, f->record.args_len)->p : NULL;
    v->at.ns = at - f->tracks[number].offset_ns;
    f->batch_track = (uint32_t)number;
    f->batch[f->n_batch++] = *v;
    const int64_t mono = at - f->ask->wall_minus_mono_ns;
    import_note_span(f->result, mono, mono + v->dur_ns);
    f->result->count[IMPORTED_KEPT]++;
}

/* The whole text of the arguments, where they are as one text. */
static void take_whole_args(struct footplate *f, enum footplate_key k)
{
    if (!fp_has(f, k) || f->record.item[k].kind != JS_STRING)
        return;
    f->record.args_len = (uint32_t)json_decode(&f->record.item[k].text, f->record.args,
                                               sizeof f->record.args, &f->scan.faults);
}

static int64_t fp_bits_of(double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* A number, or the text of a value that is not a number. */
static int64_t real_bits(const struct footplate *f, enum footplate_key k)
{
    double v = 0;
    if (fp_is(f, k, "nan"))
        return fp_bits_of((double)NAN);
    if (fp_is(f, k, "inf") || fp_is(f, k, "-inf"))
        return fp_bits_of(fp_is(f, k, "inf") ? (double)INFINITY : -(double)INFINITY);
    return json_double(&f->record.item[k], &v) ? fp_bits_of(v) : fp_bits_of(0);
}

static enum event_category fp_category_of(const struct footplate *f, enum footplate_key k)
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

void fp_emit_event(void *ctx)
{
    struct footplate *f = ctx;
    struct event v = begin_event(f);
    v.kind = (enum event_kind)fp_word(f, F_KIND, event_kind_names, EVENT_KIND_N, 0);
    v.category = fp_category_of(f, F_CATEGORY);
    v.dur_ns = fp_int(f, F_DURATION, 0);
    v.link = (uint64_t)fp_int(f, F_LINK, 0);
    v.parent = (uint64_t)fp_int(f, F_PARENT, 0);
    v.value = v.kind == EVENT_REAL ? real_bits(f, F_VALUE) : fp_int(f, F_VALUE, 0);
    take_whole_args(f, F_ARGS);
    if (v.kind == 0 || !fp_has(f, F_TIME))
        f->result->count[v.kind == 0 ? IMPORTED_PHASES : IMPORTED_NO_TIME]++;
    else
        fp_put_event(f, fp_int(f, F_TRACK, -1), fp_int(f, F_TIME, 0), &v);
}

/* ---- samples become rows again ----
 *
 * Samples of one group and one moment are next to each other, as they were one row. The step or
 * group of a series may change in the middle of a run, so each has a list of what applies from when
 * on.
 */

/* Exact in a double. */
#define CELL_MOST 9007199254740992.0

/* 1 + index under that key in the names; 0 and `new_number` for a new one, stored when it is not 0.
 */
static uint32_t fp_number_of(struct footplate *f, const char *key, size_t len, uint32_t new_number)
{
    if (texts_full(&f->names))
        return 0;
    struct interned_text *t = texts_intern(&f->names, key, len);
    if (t->number)
        return (uint32_t)t->number;
    t->number = new_number;
    return 0;
}

/* 1 + index of the group; 0: there are too many. */
static uint32_t find_group(struct footplate *f, uint32_t node, const char *name, int64_t period_ns)
{
    char key[64] = {1}; /* no pid and no name of a node begins so */
    memcpy(key + 1, &node, sizeof node);
    memcpy(key + 5, &period_ns, sizeof period_ns);
    const size_t len = strnlen(name, GROUP_NAME_LEN);
    memcpy(key + 13, name, len);
    const uint32_t found = fp_number_of(f, key, 13 + len, f->n_groups + 1);
    if (found || texts_full(&f->names))
        return found;
    f->groups = xrealloc(f->groups, f->n_groups + 1, sizeof *f->groups);
    struct fp_group *g = xcalloc(1, sizeof *g);
    g->node = node;
    group_open(&g->group, name, period_ns);
    f->groups[f->n_groups++] = g;
    return f->n_groups;
}

/* The list under that key; with `make` made when it is new. NULL: there is none, or too many. */
static struct fp_series *fp_find_series(struct footplate *f, const char *key, size_t len, bool make)
{
    make = make && f->n_series < FP_SERIES_MOST;
    const uint32_t found = fp_number_of(f, key, len, make ? f->n_series + 1 : 0);
    if (found)
        return &f->series[found - 1];
    if (!make || texts_full(&f->names))
        return NULL;
    f->series = xrealloc(f->series, f->n_series + 1, sizeof *f->series);
    f->series[f->n_series] = (struct fp_series){0};
    return &f->series[f->n_series++];
}

/* Series of a trace are known by pid, session and counter, those of lines by node, metric and
 * entity. */
static size_t trace_key(struct footplate *f, enum footplate_key name, char key[], size_t room)
{
    const int64_t process[] = {fp_int(f, F_PID, 0), fp_int(f, F_SESSION, 1)};
    memcpy(key, process, sizeof process);
    fp_text(f, name, key + sizeof process, room - sizeof process);
    return sizeof process + strlen(key + sizeof process);
}

static size_t line_key(struct footplate *f, char key[], size_t room)
{
    static const enum footplate_key parts[] = {F_NODE, F_METRIC, F_ENTITY};
    size_t len = 0;
    for (size_t i = 0; i < COUNT_OF(parts) && len + 1 < room; i++) {
        fp_text(f, parts[i], key + len, room - len);
        len += strlen(key + len) + 1;
    }
    return MIN_OF(len, room);
}

void fp_put_series(void *ctx)
{
    struct footplate *f = ctx;
    char key[512], node[IMPORT_NAME_LEN], group[GROUP_NAME_LEN], metric[ENTITY_LEN];
    const size_t len = fp_has(f, F_COUNTER) ? trace_key(f, F_COUNTER, key, sizeof key)
                                            : line_key(f, key, sizeof key);
    struct fp_stored_as k = {.from = fp_int(f, F_FROM, 0), .slot = SLOT_NONE};
    const int64_t period_ns = fp_int(f, F_PERIOD, 0);
    fp_text(f, F_NODE, node, sizeof node);
    fp_text(f, F_GROUP, group, sizeof group);
    fp_text(f, F_METRIC, metric, sizeof metric);
    fp_text(f, F_ENTITY, k.entity, sizeof k.entity);
    k.metric = metric_find(metric);
    const struct fp_node *n = fp_node(f, node, (unsigned)fp_int(f, F_SESSION, 1), (wall_ns){0});
    if (k.metric == METRIC_N || !n || period_ns <= 0 || !fp_has(f, F_STEP) ||
        !json_double(&f->record.item[F_STEP], &k.step) || !(k.step > 0)) {
        f->result->count[IMPORTED_NO_METRIC]++;
        return;
    }
    const uint32_t in = find_group(f, (uint32_t)(n - f->nodes), group, period_ns);
    struct fp_series *s = in ? fp_find_series(f, key, len, true) : NULL;
    if (!s) {
        f->result->count[IMPORTED_NODES]++;
        return;
    }
    k.group = in - 1;
    /* At once where the time is not needed, so that columns stay in their order. */
    struct group *g = &f->groups[k.group]->group;
    const bool fresh = s->n == 0 || s->v[s->n - 1].group != k.group;
    if (fresh && g->n < FP_SLOTS_MOST)
        k.slot = group_add_step(g, k.metric, k.entity, k.step);
    s->v = xrealloc(s->v, s->n + 1, sizeof *s->v);
    s->v[s->n++] = k;
    if (fresh)
        s->slotted = s->n;
}

/* ---- rows ---- */

void fp_flush_row(struct footplate *f)
{
    if (!f->row_group)
        return;
    struct fp_group *g = f->groups[f->row_group - 1];
    struct fp_node *n = &f->nodes[g->node];
    f->row_group = 0;
    group_commit(&g->group, fp_metrics(f, n), (mono_ns){f->row_time - n->offset_ns});
}

/* What applies at that time; entries come in order of time. */
static struct fp_stored_as *stored_as_at(struct fp_series *s, int64_t at)
{
    while (s->now + 1 < s->n && s->v[s->now + 1].from <= at)
        s->now++;
    while (s->now > 0 && s->v[s->now].from > at)
        s->now--;
    return &s->v[s->now];
}

/* The slot of the series stays the same as long as its step does. False: there are too many. */
static bool fp_take_slot(struct footplate *f, struct fp_series *s, struct fp_stored_as *k)
{
    struct group *g = &f->groups[k->group]->group;
    struct fp_stored_as *old = s->slotted ? &s->v[s->slotted - 1] : NULL;
    if (old && old->group == k->group && old->slot != SLOT_NONE) {
        if (old->step == k->step)
            k->slot = old->slot;
        else
            group_drop(g, old->slot);
        old->slot = SLOT_NONE;
    }
    if (k->slot == SLOT_NONE && g->n < FP_SLOTS_MOST)
        k->slot = group_add_step(g, k->metric, k->entity, k->step);
    s->slotted = (uint32_t)(k - s->v) + 1;
    return k->slot != SLOT_NONE;
}

static void put_sample(struct footplate *f, struct fp_series *s, int64_t at, double v)
{
    struct fp_stored_as *k = s && s->n ? stored_as_at(s, at) : NULL;
    if (!k) {
        f->result->count[IMPORTED_NO_METRIC]++;
        return;
    }
    const double cell = nearbyint(v / k->step);
    if (!(fabs(cell) <= CELL_MOST) || at > INT64_MAX / 4 || at < 0) {
        f->result->count[IMPORTED_NO_VALUE]++;
        return;
    }
    if (f->row_group != k->group + 1 || f->row_time != at)
        fp_flush_row(f);
    if (k->slot == SLOT_NONE && !fp_take_slot(f, s, k)) {
        f->result->count[IMPORTED_NODES]++;
        return;
    }
    f->row_group = k->group + 1;
    f->row_time = at;
    f->groups[k->group]->group.cells[k->slot] = (int64_t)cell;
    const int64_t mono = at - f->ask->wall_minus_mono_ns;
    import_note_span(f->result, mono, mono);
    f->result->count[IMPORTED_READINGS]++;
}

void fp_put_sample(void *ctx)
{
    struct footplate *f = ctx;
    char key[512];
    double v;
    const size_t len = line_key(f, key, sizeof key);
    if (!fp_has(f, F_VALUE) || !fp_has(f, F_TIME) || !json_double(&f->record.item[F_VALUE], &v))
        f->result->count[IMPORTED_NO_VALUE]++;
    else
        put_sample(f, fp_find_series(f, key, len, false), fp_int(f, F_TIME, 0), v);
}

/* an event of a trace */
static void fp_put_counter(struct footplate *f, int64_t at)
{
    char key[512];
    double v;
    const size_t len = trace_key(f, F_NAME, key, sizeof key);
    if (fp_is(f, F_CAT, "step"))
        return; /* derived */
    if (!f->record.has_only || !json_double(&f->record.only, &v))
        f->result->count[IMPORTED_NO_VALUE]++;
    else
        put_sample(f, fp_find_series(f, key, len, false), at, v);
}

void fp_rows_free(struct footplate *f)
{
    for (uint32_t i = 0; i < f->n_series; i++)
        free(f->series[i].v);
    for (uint32_t i = 0; i < f->n_groups; i++) {
        group_close(&f->groups[i]->group);
        free(f->groups[i]);
    }
    free(f->series);
    free(f->groups);
    texts_clear(&f->names);
}

/* ---- events of a trace ---- */

/* The kind by phase and category, and the value by the kind. */
static void fp_kind_of(const struct footplate *f, char ph, struct event *v)
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

static bool fp_time_of(struct footplate *f, int64_t *at, int64_t *dur)
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

static void put_track_event(struct footplate *f, char ph, int64_t track)
{
    struct event v = begin_event(f);
    int64_t at;
    if (!fp_time_of(f, &at, &v.dur_ns))
        return;
    fp_kind_of(f, ph, &v);
    v.category = fp_category_of(f, v.kind == EVENT_STEP ? F_CATEGORY : F_CAT);
    v.link = (uint64_t)fp_int(f, F_CORRELATION, 0);
    v.parent = (uint64_t)fp_int(f, F_EXTERNAL, 0);
    take_whole_args(f, F_TEXT);
    fp_put_event(f, track, at, &v);
}

/* Names and arrows repeat what is elsewhere; tracks after those of the run are derived. */
void fp_put_trace_event(void *ctx)
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
        put_track_event(f, c, (tid - 1) / f->lanes);
    else if (c == 'C' && tid == 0 && fp_time_of(f, &at, &dur))
        fp_put_counter(f, at);
}
