/* SPDX-License-Identifier: Apache-2.0 */
/* recordkit.c - see recordkit.h. */
#include "query/recordkit.h"

#include <dirent.h>
#include <inttypes.h>

#include "base/mem.h"
#include "test.h"

struct clock_tie __wrap_clock_tie_now(void);
struct clock_tie __wrap_clock_tie_now(void)
{
    return (struct clock_tie){{0}, {KIT_START}};
}

struct recordkit recordkit_open(const char *run, const char *node)
{
    struct recordkit k;
    struct err e;
    snprintf(k.run, sizeof k.run, "%s", run);
    snprintf(k.node, sizeof k.node, "%s", node);
    char dir[PATH_LEN + 80];
    snprintf(dir, sizeof dir, "%s/node-%s", run, node);
    kit_mkdir(dir);
    OK(writer_open(&k.metrics, dir, &e));
    k.events = recordkit_beside(&k, "events");
    return k;
}

struct writer *recordkit_beside(const struct recordkit *k, const char *name)
{
    struct writer *w;
    struct err e;
    OK(writer_open_beside(&w, k->metrics, name, &e));
    return w;
}

static struct track thread_of(uint32_t pid, uint64_t tid)
{
    struct track t = {.kind = TRACK_THREAD, .pid = pid, .id = tid};
    snprintf(t.process, sizeof t.process, "python train.py");
    return t;
}

/* As a ring tells them: when they end, the inner before the outer. */
static int by_end(const void *a, const void *b)
{
    const struct event *x = &((const struct run_event *)a)->event;
    const struct event *y = &((const struct run_event *)b)->event;
    const int64_t s = x->at.ns + x->dur_ns, t = y->at.ns + y->dur_ns;
    if (s != t)
        return s < t ? -1 : 1;
    return (x->at.ns < y->at.ns) - (x->at.ns > y->at.ns);
}

static int64_t record(struct writer *w, struct track t, int64_t at, const char *text)
{
    struct stepkit k = {.at = at};
    struct sink *s = writer_sink(w);
    stepkit_add(&k, text);
    const int64_t end = k.at;
    if (k.n)
        qsort(k.v, k.n, sizeof *k.v, by_end);
    for (size_t i = 0; i < k.n; i++)
        s->ops->events(s, &t, &k.v[i].event, 1);
    stepkit_free(&k);
    return end;
}

int64_t recordkit_thread(struct writer *w, uint32_t pid, uint64_t tid, int64_t at, const char *text)
{
    return record(w, thread_of(pid, tid), at, text);
}

int64_t recordkit_device(struct writer *w, uint32_t pid, unsigned device, int64_t at,
                         const char *text)
{
    struct track t = thread_of(pid, device);
    t.kind = TRACK_DEVICE;
    snprintf(t.name, sizeof t.name, "gpu%u", device);
    return record(w, t, at, text);
}

void recordkit_fact(struct writer *w, uint32_t pid, uint64_t tid, const char *name, int64_t value)
{
    const struct track t = thread_of(pid, tid);
    const struct event v = {.at = {1}, .kind = EVENT_COUNT, .name = name, .value = value};
    struct sink *s = writer_sink(w);
    s->ops->events(s, &t, &v, 1);
}

void recordkit_mark(struct recordkit *k, enum mark_id id, int64_t at, int64_t number)
{
    struct sink *s = writer_sink(k->metrics);
    s->ops->mark(s, &(struct mark){.id = id, .at = {at}, .number = number});
}

void recordkit_close(struct recordkit *k, int64_t from, int64_t to, const char *status)
{
    char json[256];
    struct err e;
    snprintf(json, sizeof json,
             "{\"status\":\"%s\",\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64
             ",\"exit_status\":0}",
             status, KIT_START + from, KIT_START + to);
    kit_node(k->run, k->node, writer_session(k->metrics), json);
    OK(writer_close(k->events, &e));
    OK(writer_close(k->metrics, &e));
}

const char *recordkit_killed(struct recordkit *k, const char *folder)
{
    char from[PATH_LEN + 80];
    struct err e;
    OK(writer_flush(k->events, false, &e));
    OK(writer_flush(k->metrics, false, &e));
    const char *run = kit_run(folder, "killed", "killed", KIT_START);
    kit_mkdir(kit_path("%s/node-%s", folder, k->node));
    snprintf(from, sizeof from, "%s/node-%s", k->run, k->node);
    DIR *d = opendir(from);
    CHECK(d != NULL);
    for (struct dirent *f; (f = readdir(d));)
        if (f->d_name[0] != '.')
            kit_copy(kit_path("%s/node-%s/%s", folder, k->node, f->d_name),
                     kit_path("%s/%s", from + strlen(test_tmpdir()) + 1, f->d_name));
    closedir(d);
    return run;
}
