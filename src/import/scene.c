/* SPDX-License-Identifier: Apache-2.0 */
/* scene.c - see scene.h. Lines, words, series; all but what is about ranks. */
#include "import/scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "import/scene_internal.h"
#include "record/record.h"

#define FIRST_LINE "scene 1"
/* A week; longer runs show nothing that a week does not. */
#define TIME_MOST_NS (7 * 24 * 3600 * NS_PER_S)

/* ---- words ---- */

bool word_take(struct parsing *p, const char *word)
{
    if (word_last(p) || strcmp(word_now(p), word) != 0)
        return false;
    p->words.at++;
    return true;
}

const char *word_next(struct parsing *p)
{
    const char *w = word_now(p);
    p->words.at += !word_last(p);
    return w;
}

static const char *scene_shown(const char *word)
{
    return *word ? word : "the end of the line";
}

int word_want(struct parsing *p, const char *word, struct err *e)
{
    if (word_take(p, word))
        return 0;
    return err_set(e, ERR_FORMAT, "expected '%s', found '%.60s'", word, scene_shown(word_now(p)));
}

int word_time(struct parsing *p, int64_t *ns, struct err *e)
{
    const char *w = word_next(p);
    if (duration_parse(w, ns, e) != 0 || *ns > TIME_MOST_NS)
        return err_set(e, ERR_FORMAT,
                       "'%.60s' is not a time of at most a week (examples: 500ms, 20s)",
                       scene_shown(w));
    return 0;
}

int word_count(struct parsing *p, int64_t lo, int64_t hi, int64_t *out, struct err *e)
{
    const char *w = word_next(p);
    char *end;
    const long long v = strtoll(w, &end, 10);
    if (end == w || *end || v < lo || v > hi)
        return err_set(e, ERR_FORMAT, "'%.60s' is not a number between %lld and %lld",
                       scene_shown(w), (long long)lo, (long long)hi);
    *out = v;
    return 0;
}

bool word_is_range(const char *word)
{
    return *word >= '0' && *word <= '9' && strstr(word, "..") != NULL;
}

static bool time_parse(const char *text, size_t n, int64_t *ns)
{
    char copy[40];
    struct err ignored;
    if (n == 0 || n >= sizeof copy)
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return duration_parse(copy, ns, &ignored) == 0 && *ns <= TIME_MOST_NS;
}

int word_range(struct parsing *p, bool open, int64_t *from, int64_t *to, struct err *e)
{
    const char *w = word_next(p), *dots = strstr(w, "..");
    *to = INT64_MAX;
    const bool fine = dots && time_parse(w, (size_t)(dots - w), from) &&
                      ((open && dots[2] == '\0') || time_parse(dots + 2, strlen(dots + 2), to));
    if (!fine || *to <= *from)
        return err_set(e, ERR_FORMAT, "'%.60s' is not a time range (example: 0s..300s)",
                       scene_shown(w));
    return 0;
}

bool scene_number(const char *text, double *out)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1},       {"%", 1},         {"kB", 1e3},         {"MB", 1e6},  {"GB", 1e9},
                 {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TB", 1e12}, {"B", 1}};
    char *end;
    const double v = strtod(text, &end);
    if (end == text || !isfinite(v) || fabs(v) > 1e18)
        return false;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcmp(end, units[i].name) == 0) {
            *out = v * units[i].factor;
            return true;
        }
    return false;
}

/* ---- nodes ---- */

int scene_node_find(const struct parsing *p, const char *id, size_t *out, struct err *e)
{
    for (size_t i = 0; i < p->out->n_nodes; i++)
        if (strcmp(p->out->nodes[i].id, id) == 0) {
            *out = i;
            return 0;
        }
    return err_set(e, ERR_FORMAT, "unknown node '%.60s': declare it first with 'node %.60s'", id,
                   id);
}

/* ---- series: chance ---- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

double scene_chance(uint64_t a, uint64_t b, uint64_t c)
{
    return (double)(mix(mix(mix(a) ^ b) ^ c) >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* ---- series: lines ---- */

static int scene_series_metric_of(const char *name, enum metric_id *out, struct err *e)
{
    struct nearest near = nearest_to(name);
    *out = metric_find(name);
    if (*out != METRIC_N)
        return 0;
    for (enum metric_id m = 0; m < METRIC_N; m++)
        nearest_offer(&near, metrics[m].name);
    if (near.best)
        return err_set(e, ERR_FORMAT, "unknown metric '%.60s'; did you mean %s?", name, near.best);
    return err_set(e, ERR_FORMAT, "unknown metric '%.60s'", name);
}

/* "5", or "5 for 10s 90 for 2s", or "10 to 90"; then "noise 3". */
static int take_shape(struct parsing *p, struct scene_range *x, struct err *e)
{
    if (word_take(p, "none")) {
        x->shape = SCENE_NONE;
        return 0;
    }
    do {
        struct scene_level *l = &x->level[x->n_levels];
        const char *w = word_next(p);
        if (x->n_levels == SCENE_WAVE_MOST)
            return err_set(e, ERR_LIMIT, "more than %d levels in a wave", SCENE_WAVE_MOST);
        if (!scene_number(w, &l->value))
            return err_set(e, ERR_FORMAT, "'%.60s' is not a value", *w ? w : "the end of the line");
        x->n_levels++;
        if (word_take(p, "for")) {
            TRY(word_time(p, &l->dur_ns, e));
            if (l->dur_ns == 0)
                return err_set(e, ERR_FORMAT, "a wave level needs a duration above 0 s");
            x->shape = SCENE_WAVE;
        }
    } while (x->shape == SCENE_WAVE && !word_last(p) && !word_is_range(word_now(p)) &&
             strcmp(word_now(p), "noise") != 0);
    if (x->shape == SCENE_FLAT && word_take(p, "to")) {
        x->shape = SCENE_RAMP;
        if (!scene_number(word_next(p), &x->level[1].value))
            return err_set(e, ERR_FORMAT, "expected a ramp such as '10 to 90'");
    }
    if (word_take(p, "noise") && !scene_number(word_next(p), &x->noise))
        return err_set(e, ERR_FORMAT, "expected noise such as 'noise 5'");
    return 0;
}

static uint64_t text_key(const char *a, const char *b, const char *c)
{
    uint64_t h = 1469598103934665603u; /* not HASH_BEGIN: with that scenes had other noise */
    const char *const texts[] = {a, b, c};
    for (size_t i = 0; i < COUNT_OF(texts); i++, h = mix(h))
        h = hash_more(h, texts[i], strlen(texts[i]));
    return h;
}

static int scene_series_of(struct parsing *p, size_t node, enum metric_id m, const char *entity,
                           struct scene_series **out, struct err *e)
{
    struct scene *s = p->out;
    for (size_t i = 0; i < s->n_series; i++)
        if (s->series[i].node == node && s->series[i].metric == m &&
            strcmp(s->series[i].entity, entity) == 0) {
            *out = &s->series[i];
            return 0;
        }
    if (s->n_series == SCENE_SERIES_MOST)
        return err_set(e, ERR_LIMIT, "more than %d series", SCENE_SERIES_MOST);
    *out = ARENA_ADD(p->arena, s->series, s->n_series, s->cap_series);
    **out = (struct scene_series){
        .node = node,
        .metric = m,
        .entity = arena_strdup(p->arena, entity),
        .key = text_key(s->nodes[node].id, metrics[m].name, entity),
    };
    return 0;
}

struct scene_series_wanted {
    enum metric_id metric;
    const char *entity; /* may end with '*': all of the node's devices */
    const struct scene_range *ranges;
    size_t n;
};

static int add_ranges(struct parsing *p, size_t node, const char *entity,
                      const struct scene_series_wanted *w, struct err *e)
{
    struct scene_series *x = NULL;
    TRY(scene_series_of(p, node, w->metric, entity, &x, e));
    for (size_t i = 0; i < w->n; i++) {
        *ARENA_ADD(p->arena, x->ranges, x->n, x->cap) = w->ranges[i];
    }
    return 0;
}

static int add_to_node(struct parsing *p, size_t node, const struct scene_series_wanted *w,
                       struct err *e)
{
    const struct scene_node *d = &p->out->nodes[node];
    const size_t len = strlen(w->entity);
    char entity[ENTITY_LEN];
    if (len >= ENTITY_LEN - 8)
        return err_set(e, ERR_FORMAT, "name '%.20s...' is too long", w->entity);
    if (len == 0 || w->entity[len - 1] != '*')
        return add_ranges(p, node, w->entity, w, e);
    const unsigned all = metrics[w->metric].per == PER_GPU    ? d->gpus
                         : metrics[w->metric].per == PER_CORE ? d->cores
                                                              : 0;
    if (all == 0)
        return err_set(e, ERR_FORMAT, "node '%s' does not declare its number of '%s'", d->id,
                       w->entity);
    for (unsigned i = 0; i < all; i++) {
        snprintf(entity, sizeof entity, "%.*s%u", (int)len - 1, w->entity, i);
        TRY(add_ranges(p, node, entity, w, e));
    }
    return 0;
}

/* The first word is a node, or '*' for all of them. */
static int add_everywhere(struct parsing *p, const char *id, const struct scene_series_wanted *w,
                          struct err *e)
{
    size_t node = 0;
    if (strcmp(id, "*") != 0) {
        TRY(scene_node_find(p, id, &node, e));
        return add_to_node(p, node, w, e);
    }
    if (!p->out->n_nodes)
        return err_set(e, ERR_FORMAT, "no node is declared yet");
    for (; node < p->out->n_nodes; node++)
        TRY(add_to_node(p, node, w, e));
    return 0;
}

/* NODE METRIC [ENTITY] RANGE SHAPE ... */
static int scene_series_line(struct parsing *p, struct err *e)
{
    const char *id = word_next(p);
    struct scene_series_wanted w = {.entity = ENTITY_TOTAL};
    size_t node;
    if (strcmp(id, "*") != 0 && scene_node_find(p, id, &node, e) != 0)
        return err_set(e, ERR_FORMAT, "'%.60s' is neither a node nor a keyword", id);
    TRY(scene_series_metric_of(word_next(p), &w.metric, e));
    if (!word_is_range(word_now(p)))
        w.entity = word_next(p);
    struct scene_range *ranges = arena_array(p->arena, struct scene_range, p->words.n);
    do {
        struct scene_range *x = &ranges[w.n++];
        TRY(word_range(p, false, &x->from_ns, &x->to_ns, e));
        TRY(take_shape(p, x, e));
    } while (!word_last(p));
    w.ranges = ranges;
    return add_everywhere(p, id, &w, e);
}

/* ---- series: values ---- */

static double wave_at(const struct scene_range *x, int64_t t)
{
    int64_t whole = 0;
    for (size_t i = 0; i < x->n_levels; i++)
        whole += x->level[i].dur_ns;
    int64_t in = whole ? (t - x->from_ns) % whole : 0;
    size_t i = 0;
    while (i + 1 < x->n_levels && in >= x->level[i].dur_ns)
        in -= x->level[i++].dur_ns;
    return x->level[i].value;
}

static double shape_at(const struct scene_range *x, int64_t t)
{
    switch (x->shape) {
    case SCENE_NONE:
        return NAN;
    case SCENE_WAVE:
        return wave_at(x, t);
    case SCENE_RAMP:
        return x->level[0].value + (x->level[1].value - x->level[0].value) *
                                       (double)(t - x->from_ns) / (double)(x->to_ns - x->from_ns);
    default:
        return x->level[0].value;
    }
}

/* The last line counts. */
double scene_value(const struct scene *s, const struct scene_series *x, int64_t t)
{
    for (size_t i = x->n; i > 0; i--) {
        const struct scene_range *c = &x->ranges[i - 1];
        if (t < c->from_ns || t >= c->to_ns)
            continue;
        const double noise = c->noise != 0 ? scene_chance(s->seed, x->key, (uint64_t)t) : 0;
        const double v = shape_at(c, t) + c->noise * noise;
        return v < 0 ? 0 : v; /* what is missing stays so */
    }
    return NAN;
}

/* ---- lines ---- */

/* "cores=16": the value of the word when it has this key, else NULL. */
static const char *scene_value_of(const char *word, const char *key)
{
    const size_t n = strlen(key);
    return strncmp(word, key, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

static int node_fact(struct scene_node *d, const char *word, struct err *e)
{
    static const char *const keys[] = {"cores", "gpus", "memory"};
    double v = 0;
    const size_t k = FIND_FIRST(i, COUNT_OF(keys), scene_value_of(word, keys[i]));
    if (k == COUNT_OF(keys))
        return err_set(e, ERR_FORMAT, "'%.60s' is not one of cores=, gpus=, memory=", word);
    if (!scene_number(scene_value_of(word, keys[k]), &v) || v < 0 || (k < 2 && v > 4096))
        return err_set(e, ERR_FORMAT, "'%.60s' is not a number with an optional unit", word);
    d->cores = k == 0 ? (unsigned)v : d->cores;
    d->gpus = k == 1 ? (unsigned)v : d->gpus;
    d->memory_bytes = k == 2 ? (int64_t)v : d->memory_bytes;
    return 0;
}

static bool scene_is_name(const char *text)
{
    const size_t n = strlen(text);
    return n > 0 && n < ENTITY_LEN &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == n;
}

static int scene_on_node(struct parsing *p, struct err *e)
{
    struct err ignored;
    size_t old;
    const char *id = word_next(p);
    if (!scene_is_name(id) || strcmp(id, ".") == 0 || strcmp(id, "..") == 0)
        return err_set(e, ERR_FORMAT, "'%.60s' is not a valid node name", scene_shown(id));
    if (scene_node_find(p, id, &old, &ignored) == 0)
        return err_set(e, ERR_FORMAT, "node '%.60s' is already declared", id);
    if (p->out->n_nodes == SCENE_NODES_MOST)
        return err_set(e, ERR_LIMIT, "more than %d nodes", SCENE_NODES_MOST);
    struct scene_node *d = ARENA_ADD(p->arena, p->out->nodes, p->out->n_nodes, p->out->cap_nodes);
    *d = (struct scene_node){.id = id};
    while (!word_last(p))
        TRY(node_fact(d, word_next(p), e));
    return 0;
}

static int on_interval(struct parsing *p, struct err *e)
{
    TRY(word_time(p, &p->out->interval_ns, e));
    if (p->out->interval_ns < NS_PER_MS)
        return err_set(e, ERR_FORMAT, "the interval must be at least 1ms");
    return 0;
}

static int on_seed(struct parsing *p, struct err *e)
{
    int64_t v = 0;
    const int rc = word_count(p, 0, INT64_MAX, &v, e);
    p->out->seed = (uint64_t)v;
    return rc;
}

/* job 0s..600s [exit 1], or job unknown */
static int on_job(struct parsing *p, struct err *e)
{
    int64_t status = 0;
    p->out->no_job = word_take(p, "unknown");
    if (p->out->no_job)
        return 0;
    TRY(word_range(p, false, &p->out->job_from_ns, &p->out->job_to_ns, e));
    if (word_take(p, "exit"))
        TRY(word_count(p, 0, 255, &status, e));
    p->out->job_exit = (int)status;
    return 0;
}

/* The rest of the line as it is there, for tests. */
static int on_note(struct parsing *p, struct err *e)
{
    const char *kind = p->words.v[0];
    if (p->words.n < 2)
        return err_set(e, ERR_FORMAT, "expected a value after '%s'", kind);
    *ARENA_ADD(p->arena, p->out->notes, p->out->n_notes, p->out->cap_notes) =
        (struct scene_note){.kind = kind, .text = arena_strndup(p->arena, p->rest, p->rest_len)};
    p->words.at = p->words.n;
    return 0;
}

/* NODE mark 300s xid 79 text */
static int on_mark(struct parsing *p, size_t node, struct err *e)
{
    struct scene_mark m = {.node = node, .text = ""};
    TRY(word_time(p, &m.at_ns, e));
    const char *name = word_next(p);
    while (m.id < MARK_N && strcmp(marks[m.id].name, name) != 0)
        m.id++;
    if (m.id == MARK_N)
        return err_set(e, ERR_FORMAT, "unknown mark '%.60s'", scene_shown(name));
    if (!word_last(p))
        TRY(word_count(p, INT64_MIN, INT64_MAX, &m.number, e));
    if (!word_last(p))
        m.text = word_next(p);
    *ARENA_ADD(p->arena, p->out->marks, p->out->n_marks, p->out->cap_marks) = m;
    return 0;
}

/* A line that begins with the name of a node. */
static int on_machine(struct parsing *p, struct err *e)
{
    size_t node = 0;
    if (p->words.n > 1 && strcmp(p->words.v[1], "mark") == 0) {
        TRY(scene_node_find(p, p->words.v[0], &node, e));
        p->words.at = 2;
        return on_mark(p, node, e);
    }
    return scene_series_line(p, e);
}

static const struct {
    const char *word;
    int (*take)(struct parsing *p, struct err *e);
} lines[] = {
    {"node", scene_on_node}, {"interval", on_interval}, {"seed", on_seed},         {"job", on_job},
    {"expect", on_note},     {"set", on_note},          {"rank", scene_rank_line},
};

static int scene_take_line(struct parsing *p, struct err *e)
{
    int rc = 1;
    for (size_t i = 0; i < COUNT_OF(lines) && rc == 1; i++)
        if (word_take(p, lines[i].word))
            rc = lines[i].take(p, e);
    if (rc == 1)
        rc = on_machine(p, e);
    if (rc == 0 && !word_last(p))
        return err_set(e, ERR_FORMAT, "unexpected '%.60s'", word_now(p));
    return rc;
}

/* ---- text ---- */

static bool scene_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

static bool ends_word(const char *p, const char *end)
{
    return p == end || scene_is_blank(*p) || *p == ';' || *p == '"' || *p == '#' ||
           (*p == ':' && (p + 1 == end || scene_is_blank(p[1])));
}

/* One word of [*at, end) into the arena; NULL: there is no more. A text in quotes is one word. */
static const char *cut_word(const char **at, const char *end, struct arena *a)
{
    const char *p = *at;
    while (p < end && scene_is_blank(*p))
        p++;
    const char *from = p;
    if (p == end || *p == '#')
        return NULL;
    if (*p == '"') {
        const char *close = memchr(p + 1, '"', (size_t)(end - p - 1));
        *at = close ? close + 1 : end;
        return arena_strndup(a, p + 1, (size_t)((close ? close : end) - p - 1));
    }
    p += *p == ';' || *p == ':';
    while (p == from || (from[0] != ';' && from[0] != ':' && !ends_word(p, end)))
        p++;
    *at = p;
    return arena_strndup(a, from, (size_t)(p - from));
}

static int scene_split(struct parsing *p, const char *text, const char *end, struct err *e)
{
    struct words *w = &p->words;
    const char *word;
    w->n = w->at = 0;
    while ((word = cut_word(&text, end, p->arena))) {
        if (w->n == SCENE_WORDS_MOST)
            return err_set(e, ERR_LIMIT, "more than %d words in a line", SCENE_WORDS_MOST);
        w->v[w->n++] = word;
        for (p->rest = w->n > 1 ? p->rest : text;
             w->n == 1 && p->rest < end && scene_is_blank(*p->rest);)
            p->rest++;
    }
    p->rest_len = w->n > 1 ? (size_t)(text - p->rest) : 0; /* a word is there */
    w->v[w->n] = "";
    return 0;
}

int scene_sniff(const char *text, size_t n)
{
    const size_t len = sizeof FIRST_LINE - 1;
    const bool is = n >= len && memcmp(text, FIRST_LINE, len) == 0 &&
                    (n == len || text[len] == '\n' || text[len] == ' ' || text[len] == '\r');
    return is ? 100 : 0;
}

/* Steps that a rank does, and how long they take at most: before they are walked. */
static void weigh_steps(const struct scene_rank *r, double *steps, double *ns)
{
    for (size_t i = 0; i < r->n_steps; i++) {
        const struct scene_steps *x = &r->steps[i];
        const double n = (double)x->count;
        *steps += n;
        *ns += n * (2 * (double)x->dur_ns + (double)x->pause_ns);
        for (size_t k = 0; k < x->n_odd; k++)
            *ns += (x->odd[k].every ? n / (double)x->odd[k].every : 1) * (double)x->odd[k].dur_ns;
        for (size_t k = 0; k < x->n_after; k++) {
            const double more =
                n / (double)x->after[k].every * (double)MAX_OF(x->after[k].count, 1);
            *steps += more;
            *ns += more * (double)x->after[k].dur_ns;
        }
    }
}

static int check_steps(const struct scene *s, double *size, struct err *e)
{
    double steps = 0;
    for (size_t i = 0; i < s->n_ranks; i++) {
        double ns = 0;
        weigh_steps(&s->ranks[i], &steps, &ns);
        if (ns > 8.0 * (double)TIME_MOST_NS)
            return err_set(e, ERR_LIMIT, "the steps of rank %lld take more than eight weeks",
                           (long long)s->ranks[i].number);
    }
    *size = steps * SCENE_PARTS_MOST;
    return *size <= SCENE_SIZE_MOST ? 0 : err_set(e, ERR_LIMIT, "the scene has too many steps");
}

/* Readings and events that would be made of it. */
static int check_whole(const struct scene *s, struct err *e)
{
    double size = 0;
    if (s->n_nodes == 0)
        return err_set(e, ERR_FORMAT, "the scene has no nodes");
    TRY(check_steps(s, &size, e));
    const double end = (double)scene_end(s);
    size += end / (double)s->interval_ns * (double)s->n_series;
    for (size_t i = 0; i < s->n_ranks; i++)
        for (size_t k = 0; k < s->ranks[i].n_workers; k++)
            size += (double)s->ranks[i].workers[k].count * end /
                    (double)s->ranks[i].workers[k].every_ns;
    if (size > SCENE_SIZE_MOST)
        return err_set(e, ERR_LIMIT,
                       "the scene is too large: it would create %.3g readings and events", size);
    return 0;
}

int scene_parse(const char *text, size_t n, struct arena *a, struct scene *out, struct err *e)
{
    struct parsing *p = arena_new(a, struct parsing);
    const char *end = text + n;
    if (!scene_sniff(text, n))
        return err_set(e, ERR_FORMAT, "the first line must be '" FIRST_LINE "'");
    *out = (struct scene){.interval_ns = 500 * NS_PER_MS};
    p->out = out;
    p->arena = a;
    for (unsigned line = 1; text < end; line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        const size_t notes = out->n_notes;
        int rc = memchr(text, '\0', (size_t)(stop - text))
                     ? err_set(e, ERR_FORMAT, "invalid character")
                     : scene_split(p, text, stop, e);
        if (rc == 0 && line > 1 && p->words.n)
            rc = scene_take_line(p, e);
        if (rc != 0)
            return err_in(e, "line %u", line);
        if (out->n_notes > notes)
            out->notes[notes].line = line;
        text = stop + (stop < end);
    }
    return check_whole(out, e);
}
