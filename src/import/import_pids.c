/* SPDX-License-Identifier: Apache-2.0 */
/* import_pids.c - see import_pids.h. */
#include "import/import_pids.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/import_who.h"

/* Linux gives no pid from here on. */
#define PIDS_BEYOND ((uint32_t)1 << 22)

static uint32_t import_pids_hash_of(uint32_t process, uint32_t pid)
{
    return (uint32_t)(((uint64_t)process << 32 | pid) * 0x9e3779b97f4a7c15u >> 32);
}

static uint32_t *slot_of_pid(const struct import_pids *p, uint32_t process, uint32_t pid)
{
    for (uint32_t i = import_pids_hash_of(process, pid);; i++) {
        uint32_t *slot = &p->by_pid[i & (p->cap - 1)];
        if (!*slot || (p->rows[*slot - 1].pid == pid && p->rows[*slot - 1].process == process))
            return slot;
    }
}

static uint32_t *slot_of_shown(const struct import_pids *p, uint32_t shown)
{
    for (uint32_t i = import_pids_hash_of(0, shown);; i++) {
        uint32_t *slot = &p->by_shown[i & (p->cap - 1)];
        if (!*slot || p->rows[*slot - 1].shown == shown)
            return slot;
    }
}

static void import_pids_grow(struct import_pids *p)
{
    free(p->by_pid);
    free(p->by_shown);
    p->cap = p->cap ? p->cap * 2 : 64;
    p->rows = xrealloc(p->rows, p->cap / 2, sizeof *p->rows);
    p->by_pid = xcalloc(p->cap, sizeof *p->by_pid);
    p->by_shown = xcalloc(p->cap, sizeof *p->by_shown);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        *slot_of_pid(p, p->rows[i].process, p->rows[i].pid) = i + 1;
        *slot_of_shown(p, p->rows[i].shown) = i + 1;
    }
}

static uint32_t import_pids_add_row(struct import_pids *p, uint32_t pid)
{
    uint32_t shown = pid;
    for (uint32_t beyond = PIDS_BEYOND + p->n_rows; *slot_of_shown(p, shown); beyond++)
        shown = beyond;
    p->rows[p->n_rows] = (struct pid_row){p->now, pid, shown};
    *slot_of_pid(p, p->now, pid) = p->n_rows + 1;
    *slot_of_shown(p, shown) = p->n_rows + 1;
    p->last = p->n_rows++;
    return shown;
}

static uint32_t shown_as(struct import_pids *p, uint32_t pid)
{
    if (p->n_rows && p->rows[p->last].pid == pid && p->rows[p->last].process == p->now)
        return p->rows[p->last].shown;
    if (p->n_rows * 2 >= p->cap)
        import_pids_grow(p);
    const uint32_t row = *slot_of_pid(p, p->now, pid);
    return row ? p->rows[p->last = row - 1].shown : import_pids_add_row(p, pid);
}

static void import_pids_on_events(struct sink *s, const struct track *t, const struct event *v,
                                  size_t n)
{
    struct import_pids *p = (struct import_pids *)s;
    const uint32_t pid = shown_as(p, t->pid);
    struct track moved;
    if (pid != t->pid) {
        moved = *t;
        moved.pid = pid;
        t = &moved;
    }
    if (!p->spoke && n && t->kind == TRACK_THREAD) {
        p->spoke = true;
        p->first = *t;
    }
    sink_pass_events(s, t, v, n);
}

void pids_open(struct import_pids *p, struct sink *to)
{
    static const struct sink_ops ops = {sink_pass_row, sink_pass_loss, sink_pass_mark,
                                        import_pids_on_events};
    *p = (struct import_pids){.pass = {{&ops}, to}};
}

void pids_enter(struct import_pids *p, const char *process)
{
    p->spoke = false;
    for (p->now = 0; p->now < p->n_processes; p->now++)
        if (strcmp(p->processes[p->now], process) == 0)
            return;
    p->processes = xrealloc(p->processes, p->n_processes + 1, sizeof *p->processes);
    p->processes[p->n_processes++] = xstrdup(process);
}

void pids_tell_rank(struct import_pids *p, int64_t rank, mono_ns at)
{
    const struct event v = import_rank_event(rank, at);
    if (p->spoke)
        sink_pass_events(&p->pass.sink, &p->first, &v, 1);
}

void pids_close(struct import_pids *p)
{
    for (uint32_t i = 0; i < p->n_processes; i++)
        free(p->processes[i]);
    free(p->processes);
    free(p->rows);
    free(p->by_pid);
    free(p->by_shown);
    *p = (struct import_pids){0};
}
