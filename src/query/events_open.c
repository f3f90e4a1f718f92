/* SPDX-License-Identifier: Apache-2.0 */
/* events_open.c - opens the event files of a run and lists their processes and tracks.
 *
 * They are opened when events are first needed, so that reading samples alone does not pay for
 * them. A run without event files is a normal one. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/run_internal.h"
#include "record/event.h"

wall_ns event_wall(const struct store *s, mono_ns t)
{
    const int64_t us = t.ns / NS_PER_US - (t.ns % NS_PER_US < 0);
    return (wall_ns){store_wall(s, us).ns + (t.ns - us * NS_PER_US)};
}

/* ---- files ---- */

static void events_open_add_loss(struct run *r, struct event_index *x, size_t node,
                                 const char *file, const struct err *why)
{
    const struct node_info *n = &r->info.nodes[node];
    struct run_loss *l = VEC_ADD(x->losses, x->n_losses, x->cap_losses);
    *l = (struct run_loss){.node = n->id, .at = n->end};
    l->loss = loss_of(LOSS_DAMAGED, LOST_PART(file), "%.159s", why->msg);
}

/* The store of the same file, when the run was opened before. */
static struct store *events_open_take(struct run *before, const char *path)
{
    struct event_index *x = before ? before->events : NULL;
    for (size_t i = 0; x && i < x->n_files; i++)
        if (x->files[i].store && strcmp(x->files[i].store->path, path) == 0) {
            struct store *s = x->files[i].store;
            x->files[i].store = NULL;
            return s;
        }
    return NULL;
}

static int events_open_file(struct run *r, struct event_index *x, const struct run_event_file *from,
                            struct err *e)
{
    struct store *store = events_open_take(r->before, from->path);
    const int rc = run_open_events(&store, from, r->follows, e);
    if (rc == ERR_VERSION)
        return rc;
    if (err_no_file(rc, e)) /* its recorder had no events: it removed it after we listed it */
        return 0;
    if (rc) {
        events_open_add_loss(r, x, from->node, path_base(from->path), e);
        return 0;
    }
    x->files[x->n_files++] = (struct event_file){store, from->node, from->detail};
    return 0;
}

static int open_files(struct run *r, struct event_index *x, struct err *e)
{
    struct run_event_file *v;
    size_t n;
    int rc = run_event_files(&r->info, &r->arena, &v, &n, e);
    if (rc)
        return rc;
    x->files = arena_array(&r->arena, struct event_file, n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = events_open_file(r, x, &v[i], e);
    return rc;
}

/* The session of the same node that the file's first event falls into; else the latest. */
static size_t session_of(const struct run *r, const struct event_file *f)
{
    const wall_ns t = store_wall(f->store, f->store->t_first_us);
    size_t i = f->node;
    while (f->detail && i > 0 && strcmp(r->info.nodes[i - 1].id, r->info.nodes[i].id) == 0 &&
           t.ns < r->info.nodes[i].start.ns)
        i--;
    return i;
}

/* ---- tracks and processes ---- */

/* While they are gathered: a track with its place in the order of everything. */
struct gathered {
    struct event_track t;
    size_t node;
    uint32_t file; /* index */
    uint32_t filled;
    uint32_t process; /* its number before they are sorted */
};

struct events_open_gathering {
    struct run *run;
    struct gathered *v;
    size_t n, cap;
    struct hash_index index; /* by file and track */
};

/* The track, made when it is new. */
static struct gathered *gathered_of(struct events_open_gathering *g, const struct event_file *f,
                                    uint32_t file, const struct track *t)
{
    const uint64_t hash = (uint64_t)track_hash(t) + file;
    const uint32_t at = HASH_FIND(&g->index, hash, i,
                                  g->v[i].file == file && track_same(&g->v[i].t.track.track, t));
    if (at)
        return &g->v[at - 1];
    struct gathered *x = VEC_ADD(g->v, g->n, g->cap);
    *x = (struct gathered){.node = session_of(g->run, f), .file = file};
    x->t.store = f->store;
    x->t.track = (struct run_track){
        .track = *t, .detail = f->detail, .first = {INT64_MAX}, .last = {INT64_MIN}};
    hash_add(&g->index, hash, g->n);
    return x;
}

static void gather_block(struct events_open_gathering *g, const struct event_file *f, uint32_t file,
                         uint32_t block)
{
    const struct events_block *b = &f->store->events[block];
    struct gathered *x = gathered_of(g, f, file, &b->track);
    struct run_track *t = &x->t.track;
    t->first.ns = MIN_OF(t->first.ns, store_wall(f->store, b->t_first_us).ns);
    t->last.ns = MAX_OF(t->last.ns, store_wall(f->store, b->t_last_us).ns);
    t->events += b->rows;
    x->t.n_blocks++;
}

/* Which blocks are whose: all tracks at once, as there may be many of both. */
static void fill_blocks(struct events_open_gathering *g, const struct event_index *x)
{
    for (size_t i = 0; i < g->n; i++)
        g->v[i].t.blocks = arena_array(&g->run->arena, uint32_t, g->v[i].t.n_blocks);
    for (uint32_t i = 0; i < x->n_files; i++) {
        const struct store *s = x->files[i].store;
        for (uint32_t k = 0; k < s->n_events; k++) {
            struct gathered *one = gathered_of(g, &x->files[i], i, &s->events[k].track);
            one->t.blocks[one->filled++] = k;
        }
    }
}

/* Processes by node and pid. `nodes` has the node of each process. */
static struct run_process *join_process(struct run *r, struct event_index *x,
                                        struct hash_index *index, size_t *nodes, struct gathered *g)
{
    const struct node_info *n = &r->info.nodes[g->node];
    const struct run_track *t = &g->t.track;
    const uint64_t hash = t->track.pid * 0x9e3779b9u + g->node;
    const uint32_t at =
        HASH_FIND(index, hash, i, x->processes[i].pid == t->track.pid && nodes[i] == g->node);
    g->process = at ? at - 1 : (uint32_t)x->n_processes;
    if (!at) {
        nodes[x->n_processes] = g->node;
        x->processes[x->n_processes++] = (struct run_process){
            .node = n->id,
            .session = n->session,
            .pid = t->track.pid,
            .name = arena_strdup(&r->arena, t->track.process),
            .rank = -1,
            .world_size = -1,
            .local_rank = -1,
            .worker = -1,
            .device = -1,
            .first = t->first,
            .last = t->last,
        };
        hash_add(index, hash, x->n_processes);
    }
    struct run_process *p = &x->processes[g->process];
    p->first.ns = MIN_OF(p->first.ns, t->first.ns);
    p->last.ns = MAX_OF(p->last.ns, t->last.ns);
    return p;
}

/* ---- facts that processes emitted about themselves ---- */

static const struct {
    enum event_id id;
    size_t offset;
} facts[] = {
    {EV_RANK, offsetof(struct run_process, rank)},
    {EV_WORLD_SIZE, offsetof(struct run_process, world_size)},
    {EV_LOCAL_RANK, offsetof(struct run_process, local_rank)},
    {EV_WORKER_ID, offsetof(struct run_process, worker)},
    {EV_DEVICE, offsetof(struct run_process, device)},
};

static void events_open_take_fact(struct run_process *p, const struct event *v)
{
    if (v->kind != EVENT_COUNT)
        return;
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        if (strcmp(event_words[facts[i].id].name, v->name) == 0)
            memcpy((char *)p + facts[i].offset, &v->value, sizeof v->value);
}

static bool has_facts(void *ctx, const char *const *names, size_t n)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < COUNT_OF(facts); k++)
            if (strcmp(event_words[facts[k].id].name, names[i]) == 0)
                return true;
    return false;
}

static void read_facts(const struct event_track *t, struct run_process *p, struct event_flow *flow)
{
    event_flow_blocks(flow, t, 0, t->n_blocks, has_facts, NULL);
    for (struct flow_rows rows; event_flow_rows(flow, &rows);)
        for (uint32_t k = rows.from; k < rows.to; k++) {
            struct event v;
            event_columns_row(rows.columns, k, &v);
            events_open_take_fact(p, &v);
        }
}

/* The only process of a node that emits events is the rank that the launcher put there. */
static void use_launcher(const struct run *r, struct event_index *x)
{
    for (size_t i = 0; i < r->info.n_nodes; i++) {
        const struct node_info *n = &r->info.nodes[i];
        struct run_process *only = NULL;
        size_t emitters = 0;
        for (size_t k = 0; k < x->n_processes; k++) {
            struct run_process *p = &x->processes[k];
            if (p->worker >= 0 || p->session != n->session || strcmp(p->node, n->id) != 0)
                continue;
            emitters++;
            only = p;
        }
        if (emitters != 1 || only->rank >= 0)
            continue;
        only->rank = n->rank;
        only->world_size = n->world_size;
        only->local_rank = n->local_rank;
    }
}

/* ---- order ---- */

static int events_open_by_rank(const void *a, const void *b)
{
    const struct run_process *x = *(const struct run_process *const *)a;
    const struct run_process *y = *(const struct run_process *const *)b;
    /* Those without a number come last. */
    return name_compare(x->node, y->node)
               ?: COMPARE(x->rank < 0 ? INT64_MAX : x->rank, y->rank < 0 ? INT64_MAX : y->rank)
               ?: COMPARE(x->session, y->session) ?: COMPARE(x->pid, y->pid);
}

static int events_open_by_process(const void *a, const void *b)
{
    const struct run_track *x = &((const struct event_track *)a)->track;
    const struct run_track *y = &((const struct event_track *)b)->track;
    const bool health = x->track.kind == TRACK_HEALTH;
    return COMPARE(health, y->track.kind == TRACK_HEALTH)
               ?: COMPARE(x->process, y->process)
               ?: COMPARE(x->track.kind, y->track.kind)
               ?: (health ? 0 : COMPARE(x->first.ns, y->first.ns))
               ?: COMPARE(x->track.id, y->track.id) ?: COMPARE(x->detail, y->detail);
}

static void sort_processes(struct run *r, struct event_index *x, struct events_open_gathering *g)
{
    struct run_process *old = x->processes;
    const size_t n = x->n_processes;
    const struct run_process **order = xmalloc(n * sizeof *order);
    uint32_t *places = xmalloc(n * sizeof *places); /* by the number before */
    for (size_t i = 0; i < n; i++)
        order[i] = &old[i];
    SORT(order, n, events_open_by_rank);
    x->processes = arena_array(&r->arena, struct run_process, n);
    for (size_t i = 0; i < n; i++) {
        x->processes[i] = *order[i];
        places[order[i] - old] = (uint32_t)i;
    }
    for (size_t i = 0; i < g->n; i++)
        g->v[i].t.track.process = &x->processes[places[g->v[i].process]];
    free(order);
    free(places);
}

static void list_tracks(struct run *r, struct event_index *x, struct events_open_gathering *g)
{
    struct event_flow *flow = event_flow_open(&(struct event_want){.value = true});
    struct hash_index pids = {0};
    size_t *nodes = xcalloc(g->n, sizeof *nodes);
    x->processes = arena_array(&r->arena, struct run_process, g->n);
    fill_blocks(g, x);
    for (size_t i = 0; i < g->n; i++) {
        struct run_process *p = join_process(r, x, &pids, nodes, &g->v[i]);
        if (!g->v[i].t.track.detail && g->v[i].t.track.track.kind != TRACK_HEALTH)
            read_facts(&g->v[i].t, p, flow);
    }
    event_flow_close(flow);
    hash_free(&pids);
    free(nodes);
    use_launcher(r, x);
    sort_processes(r, x, g);
    x->tracks = arena_array(&r->arena, struct event_track, g->n);
    for (size_t i = 0; i < g->n; i++) {
        x->tracks[i] = g->v[i].t;
        x->n_health += x->tracks[i].track.track.kind == TRACK_HEALTH;
    }
    x->n_tracks = g->n - x->n_health;
    SORT(x->tracks, g->n, events_open_by_process);
    for (size_t i = 0; i < g->n; i++)
        x->tracks[i].track.index = (uint32_t)i;
}

static void list_all(struct run *r, struct event_index *x)
{
    struct events_open_gathering g = {.run = r};
    for (uint32_t i = 0; i < x->n_files; i++)
        for (uint32_t k = 0; k < x->files[i].store->n_events; k++)
            gather_block(&g, &x->files[i], i, k);
    if (g.n)
        list_tracks(r, x, &g);
    free(g.v);
    hash_free(&g.index);
}

int run_events(struct run *r, struct event_index **out, struct err *e)
{
    if (!r->events) {
        struct event_index *x = arena_new(&r->arena, struct event_index);
        r->events = x;
        const int rc = open_files(r, x, e);
        run_close(r->before);
        r->before = NULL;
        if (rc) {
            run_events_close(r);
            return rc;
        }
        list_all(r, x);
    }
    *out = r->events;
    return 0;
}

void run_events_close(struct run *r)
{
    struct event_index *x = r->events;
    if (!x)
        return;
    for (size_t i = 0; i < x->n_files; i++)
        store_close(x->files[i].store);
    free(x->losses);
    r->events = NULL;
}

/* ---- lists ---- */

static struct run_process *copy_processes(const struct event_index *x, struct arena *a)
{
    struct run_process *v = arena_array(a, struct run_process, x->n_processes);
    for (size_t i = 0; i < x->n_processes; i++) {
        v[i] = x->processes[i];
        v[i].node = arena_strdup(a, v[i].node);
        v[i].name = arena_strdup(a, v[i].name);
    }
    return v;
}

int events_processes(struct run *r, struct arena *a, struct run_process **out, size_t *n,
                     struct err *e)
{
    struct event_index *x;
    TRY(run_events(r, &x, e));
    *out = copy_processes(x, a);
    *n = x->n_processes;
    return 0;
}

static struct run_track *copy_tracks(const struct event_index *x, size_t first, size_t n,
                                     struct arena *a)
{
    struct run_process *processes = copy_processes(x, a);
    struct run_track *v = arena_array(a, struct run_track, n);
    for (size_t i = 0; i < n; i++) {
        v[i] = x->tracks[first + i].track;
        v[i].process = processes + (v[i].process - x->processes);
    }
    return v;
}

int events_tracks(struct run *r, struct arena *a, struct run_track **out, size_t *n, struct err *e)
{
    struct event_index *x;
    TRY(run_events(r, &x, e));
    *out = copy_tracks(x, 0, x->n_tracks, a);
    *n = x->n_tracks;
    return 0;
}

int events_health_tracks(struct run *r, struct arena *a, struct run_track **out, size_t *n,
                         struct err *e)
{
    struct event_index *x;
    TRY(run_events(r, &x, e));
    *out = copy_tracks(x, x->n_tracks, x->n_health, a);
    *n = x->n_health;
    return 0;
}

const struct event_track *run_event_track(struct run *r, const struct run_track *t, struct err *e)
{
    struct event_index *x;
    if (run_events(r, &x, e) != 0)
        return NULL;
    if (t->index < x->n_tracks + x->n_health)
        return &x->tracks[t->index];
    err_set(e, ERR_NOT_FOUND, "run '%s' has no track %u", r->info.name, t->index);
    return NULL;
}
