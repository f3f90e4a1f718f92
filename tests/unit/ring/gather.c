/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - see gather.h. */
#include "gather.h"

#include <dirent.h>
#include <time.h>

#include "base/mem.h"
#include "test.h"

static void on_events(void *arg, struct ring_reader *r, const struct ring_event *v, size_t n)
{
    struct gather *g = arg;
    if (g->n + n > g->room) {
        g->room = 2 * g->room + n;
        g->v = xrealloc(g->v, g->room, sizeof g->v[0]);
    }
    for (size_t i = 0; i < n; i++) {
        struct gathered *to = &g->v[g->n++];
        *to = (struct gathered){
            .pid = ring_reader_process(r)->pid,
            .tid = v[i].tid,
            .at_ns = v[i].at.ns,
            .kind = v[i].kind,
            .mode = v[i].mode,
            .value = v[i].step,
        };
        CHECK(strlen(v[i].name) < sizeof to->name);
        snprintf(to->name, sizeof to->name, "%s", v[i].name);
        if (v[i].kind == RING_LOSS)
            snprintf(to->reason, sizeof to->reason, "%s", v[i].reason);
    }
}

static void on_lost(void *arg, struct ring_reader *r, const struct ring_losses *more)
{
    struct ring_losses *l = &((struct gather *)arg)->lost;
    (void)r;
    l->dropped += more->dropped;
    l->no_ring += more->no_ring;
    l->torn += more->torn;
    l->bad += more->bad;
    l->names += more->names;
}

static void on_begun(void *arg, struct ring_reader *r)
{
    (void)r;
    ((struct gather *)arg)->begun++;
}

static void on_ended(void *arg, struct ring_reader *r)
{
    (void)r;
    ((struct gather *)arg)->ended++;
}

static void on_broken(void *arg, struct ring_reader *r, const struct err *why)
{
    (void)r;
    ((struct gather *)arg)->broken++;
    ((struct gather *)arg)->why = *why;
}

struct ring_folder_handler gather_handler(struct gather *g)
{
    return (struct ring_folder_handler){{on_events, on_lost, g}, on_begun, on_ended, on_broken};
}

void gather_free(struct gather *g)
{
    free(g->v);
    *g = (struct gather){0};
}

struct gathered *gather_named(const struct gather *g, const char *name, size_t *n)
{
    struct gathered *v = xcalloc(g->n + 1, sizeof *v);
    *n = 0;
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->v[i].name, name) == 0)
            v[(*n)++] = g->v[i];
    return v;
}

size_t gather_count(const struct gather *g, const char *name)
{
    size_t n;
    free(gather_named(g, name, &n));
    return n;
}

void gather_wait(struct gather *g, struct ring_folder *f, size_t n)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    const mono_ns until = mono_add(clock_mono(), 10 * NS_PER_S);
    struct err e;
    size_t more;
    while (g->n < n && mono_diff(until, clock_mono()) > 0) {
        OK(ring_folder_drain(f, &more, &e));
        if (!more)
            nanosleep(&pause, NULL);
    }
}

void gather_all(struct gather *g, const char *path)
{
    const struct ring_folder_handler h = gather_handler(g);
    struct ring_folder *f;
    struct err e;
    size_t n;
    OK(ring_folder_open(&f, path, &h, &e));
    OK(ring_folder_finish(f, &n, &e));
    ring_folder_close(f, false);
}

static size_t list(const char *path, char *last, size_t size)
{
    DIR *d = opendir(path);
    size_t n = 0;
    CHECK(d != NULL);
    for (struct dirent *entry; (entry = readdir(d));) {
        if (strncmp(entry->d_name, RING_PREFIX, RING_PREFIX_LEN) != 0)
            continue;
        n++;
        if (last)
            snprintf(last, size, "%s", entry->d_name);
    }
    closedir(d);
    return n;
}

void gather_only_file(const char *path, char *out, size_t size)
{
    CHECK_INT(list(path, out, size), 1);
}

size_t gather_file_count(const char *path)
{
    return list(path, NULL, 0);
}
