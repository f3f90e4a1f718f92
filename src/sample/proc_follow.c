/* SPDX-License-Identifier: Apache-2.0 */
/* proc_follow.c - see proc_follow.h. */
#include "sample/proc_follow.h"

#include <errno.h>
#include <stdio.h>

#include "base/file.h"

enum { IO_SIZE = 512 };

static bool proc_follow_ask_clock(clockid_t clock, uint64_t *ns)
{
    struct timespec ts;
    if (clock_gettime(clock, &ts) != 0)
        return false;
    *ns = (uint64_t)ts.tv_sec * (uint64_t)NS_PER_S + (uint64_t)ts.tv_nsec;
    return true;
}

void follow_begin(struct follow *f, const struct follow_env *env, const struct proctree_member *m)
{
    uint64_t ns;
    *f = (struct follow){.pid = m->stat.pid, .start_ticks = m->stat.start_ticks};
    for (unsigned i = 0; i < F_SLOTS; i++)
        f->slot[i] = SLOT_NONE;
    f->has_clock = env->clocks && clock_getcpuclockid(m->stat.pid, &f->clock) == 0 &&
                   proc_follow_ask_clock(f->clock, &ns);
}

void follow_end(struct follow *f)
{
    source_close(&f->io);
    f->pid = 0;
}

bool follow_cpu(struct follow *f, const struct follow_env *env, const struct proctree_member *m,
                uint64_t *ns)
{
    if (f->has_clock)
        return proc_follow_ask_clock(f->clock, ns);
    *ns = (uint64_t)((double)m->stat.own_ticks * env->tick_ns);
    return true;
}

/* One that is not followed one by one holds no descriptor. */
static bool peek_io(const struct follow *f, const struct follow_env *env, char *text,
                    struct reading *r)
{
    char path[PATH_LEN];
    *r = (struct reading){.at = clock_mono()};
    snprintf(path, sizeof path, "%s/%d/io", env->proc, f->pid);
    const long n = file_peek(path, text, IO_SIZE);
    r->sys = n < 0 ? (int)-n : 0;
    r->n = n > 0 ? (size_t)n : 0;
    return n >= 0;
}

bool follow_io(struct follow *f, const struct follow_env *env, const struct proctree_member *m,
               struct pid_io *out, struct reading *r)
{
    char text[IO_SIZE];
    struct err ignored;
    *r = (struct reading){.sys = EACCES};
    if (f->io_denied)
        return false;
    if (!source_is_open(&f->io) && m->stat_fd >= 0 &&
        source_open(&f->io, &ignored, "%s/%d/io", env->proc, f->pid))
        f->io = (struct source){0};
    if (!(source_is_open(&f->io) ? source_read(&f->io, text, sizeof text, r)
                                 : peek_io(f, env, text, r))) {
        f->io_denied = r->sys == EACCES || r->sys == EPERM;
        return false;
    }
    r->sys = EINVAL;
    return procfs_pid_io(text, r->n, out);
}
