/* SPDX-License-Identifier: Apache-2.0 */
/* play.c - see play.h. */
#include "play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIME_STEP_NS = 100000000, TIMES_MOST = 1000000 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct play_series *find(struct play *p, unsigned gpu, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->series[i].gpu == gpu && strcmp(p->series[i].name, name) == 0)
            return &p->series[i];
    return NULL;
}

static void *grown(void *old, size_t *cap, size_t size)
{
    *cap = *cap ? *cap * 2 : 32;
    void *p = realloc(old, *cap * size);
    if (!p)
        abort();
    return p;
}

static struct play_series *find_or_add(struct play *p, unsigned gpu, const char *name)
{
    struct play_series *s = find(p, gpu, name);
    if (s)
        return s;
    if (p->n == p->cap)
        p->series = grown(p->series, &p->cap, sizeof *p->series);
    s = &p->series[p->n++];
    *s = (struct play_series){.gpu = gpu};
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

static const char *parse_values(struct play_answer *a, const char *w)
{
    if (*w == '-' && (w[1] < '0' || w[1] > '9'))
        return w + 1;
    while (a->n < PLAY_VALUES) {
        char *end;
        a->u[a->n] = strtoull(w, NULL, 10);
        a->v[a->n++] = strtod(w, &end);
        if (end == w)
            return NULL;
        w = end;
        if (*w != ',')
            break;
        w++;
    }
    return w;
}

/* "37,12@200*5": false when it is no answer. */
static bool parse_answer(struct play_answer *a, const char *w)
{
    char *end;
    *a = (struct play_answer){.times = 1};
    if (*w == '!') {
        a->rc = (int)strtol(w + 1, &end, 10);
        w = end;
    } else {
        w = parse_values(a, w);
    }
    if (w && *w == '@') {
        a->us = (unsigned)strtoul(w + 1, &end, 10);
        w = end;
    }
    if (w && *w == '*') {
        a->times = (unsigned)strtoul(w + 1, &end, 10);
        w = end;
    }
    return w && *w == 0 && a->times > 0 && a->times <= TIMES_MOST;
}

static bool line_series(struct play *p, char *rest)
{
    char *save, *gpu = strtok_r(rest, " ", &save), *name = strtok_r(NULL, " ", &save);
    if (!name)
        return false;
    struct play_series *s = find_or_add(p, (unsigned)strtoul(gpu, NULL, 10), name);
    for (char *w; (w = strtok_r(NULL, " ", &save));) {
        if (s->n == s->cap)
            s->answers = grown(s->answers, &s->cap, sizeof *s->answers);
        if (!parse_answer(&s->answers[s->n], w))
            return false;
        s->n++;
    }
    return true;
}

static bool line_gpu(struct play *p, char *rest)
{
    unsigned g;
    char key[16], text[PLAY_TEXT];
    if (sscanf(rest, "%u %15s %127[^\n]", &g, key, text) != 3 || g >= PLAY_GPUS)
        return false;
    const bool name = strcmp(key, "name") == 0;
    snprintf(name ? p->gpu[g].name : p->gpu[g].uuid, PLAY_TEXT, "%s", text);
    return name || strcmp(key, "uuid") == 0;
}

static bool line_lost(struct play *p, char *rest)
{
    unsigned g, first, count;
    if (sscanf(rest, "%u %u %u", &g, &first, &count) != 3 || g >= PLAY_GPUS)
        return false;
    p->gpu[g].lost_first = first;
    p->gpu[g].lost_count = count;
    return true;
}

static bool line_handle(struct play *p, char *rest)
{
    unsigned g, times;
    int rc;
    if (sscanf(rest, "%u %d %u", &g, &rc, &times) != 3 || g >= PLAY_GPUS)
        return false;
    p->gpu[g].handle_rc = rc;
    p->gpu[g].handle_times = times;
    return true;
}

static bool line_error(struct play *p, char *rest)
{
    if (p->errors == PLAY_ERRORS)
        return false;
    int *rc = &p->error[p->errors].rc;
    return sscanf(rest, "%d %127[^\n]", rc, p->error[p->errors++].text) == 2;
}

static bool line_cost(struct play *p, char *rest)
{
    if (p->costs == PLAY_COSTS)
        return false;
    unsigned *us = &p->cost[p->costs].us;
    return sscanf(rest, "%47s %u", p->cost[p->costs++].name, us) == 2;
}

static bool line_gpus(struct play *p, char *rest)
{
    p->gpus = (unsigned)strtoul(rest, NULL, 10);
    return p->gpus <= PLAY_GPUS;
}

static bool line_init(struct play *p, char *rest)
{
    p->init_rc = (int)strtol(rest, NULL, 10);
    return true;
}

static bool line_driver(struct play *p, char *rest)
{
    snprintf(p->driver, sizeof p->driver, "%s", rest);
    return true;
}

static bool line_advance(struct play *p, char *rest)
{
    p->by_time = strcmp(rest, "time") == 0;
    return p->by_time || strcmp(rest, "call") == 0;
}

static const struct {
    const char *word;
    bool (*take)(struct play *p, char *rest);
} lines[] = {
    {"series", line_series}, {"gpu", line_gpu},         {"gpus", line_gpus},
    {"lost", line_lost},     {"error", line_error},     {"init", line_init},
    {"driver", line_driver}, {"advance", line_advance}, {"handle", line_handle},
    {"cost", line_cost},
};

static bool take_line(struct play *p, char *line)
{
    line[strcspn(line, "#\n")] = 0;
    for (size_t n = strlen(line); n && line[n - 1] == ' '; n--)
        line[n - 1] = 0;
    if (!*line)
        return true;
    char *rest = line + strcspn(line, " ");
    if (*rest)
        *rest++ = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strcmp(lines[i].word, line) == 0)
            return lines[i].take(p, rest);
    return false;
}

static bool take_file(struct play *p, FILE *f, const char *path)
{
    char *line = NULL;
    size_t cap = 0;
    bool ok = true;
    for (int n = 1; ok && getline(&line, &cap, f) >= 0; n++) {
        ok = take_line(p, line);
        if (!ok)
            fprintf(stderr, "%s:%d: not a line of a play\n", path, n);
    }
    free(line);
    return ok;
}

struct play *play_load(const char *path)
{
    FILE *f = path ? fopen(path, "re") : NULL;
    if (!f) {
        fprintf(stderr, "no play '%s'\n", path ? path : "(FOOTPLATE_NVML_PLAY is not set)");
        return NULL;
    }
    struct play *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->start_ns = now_ns();
    if (!take_file(p, f, path)) {
        play_free(p);
        p = NULL;
    }
    fclose(f);
    return p;
}

void play_free(struct play *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++)
        free(p->series[i].answers);
    free(p->series);
    free(p);
}

unsigned play_cost(const struct play *p, const char *name)
{
    for (unsigned i = 0; i < p->costs; i++)
        if (strcmp(p->cost[i].name, name) == 0)
            return p->cost[i].us;
    return 0;
}

static bool is_lost(struct play *p, unsigned gpu)
{
    struct play_gpu *g = &p->gpu[gpu];
    const unsigned call = g->calls++;
    return g->lost_count && call >= g->lost_first && call - g->lost_first < g->lost_count;
}

static void to_time(struct play *p, struct play_series *s)
{
    int64_t left = (now_ns() - p->start_ns) / TIME_STEP_NS;
    for (s->at = 0; s->at + 1 < s->n && left >= (int64_t)s->answers[s->at].times; s->at++)
        left -= (int64_t)s->answers[s->at].times;
}

bool play_next(struct play *p, unsigned gpu, const char *name, bool once, struct play_answer *out)
{
    struct play_series *s = find(p, gpu, name);
    if (is_lost(p, gpu)) {
        *out = (struct play_answer){.rc = 15};
        return true;
    }
    if (!s || s->n == 0 || s->at == s->n)
        return false;
    if (p->by_time)
        to_time(p, s);
    *out = s->answers[s->at];
    s->given++;
    if (s->given >= s->answers[s->at].times && (s->at + 1 < s->n || once) && !p->by_time) {
        s->at++;
        s->given = 0;
    }
    return true;
}
