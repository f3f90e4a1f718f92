/* SPDX-License-Identifier: Apache-2.0 */
/* stepmarks.c - see stepmarks.h. */
#include "query/stepmarks.h"

#include "base/mem.h"
#include "query/stepmarks_internal.h"

struct rank_marks rank_marks_of(const struct rank_steps *s, struct arena *a)
{
    enum step_choice choice[MODE_N];
    struct rank_marks out = {.node = arena_strdup(a, s->node),
                             .rank = s->rank,
                             .pid = s->process->pid,
                             .v = arena_array(a, struct step_mark, s->n),
                             .n = s->n};
    for (int m = 0; m < MODE_N; m++)
        choice[m] = step_choice_of(s, (enum event_mode)m);
    for (size_t i = 0; i < s->n; i++) {
        const struct step *x = &s->steps[i];
        out.v[i] = (struct step_mark){
            .start = x->start.ns,
            .dur_ns = x->dur_ns,
            .iteration_ns = MAX_OF(step_iteration_ns(x), x->dur_ns),
            .number = x->number,
            .mode = x->mode,
            .cut = x->cut,
            .left_out = !step_is_chosen(x, x->mode, choice[x->mode]),
        };
    }
    out.index = step_index_make(&out, a);
    return out;
}

size_t rank_marks_bytes(size_t n)
{
    const size_t order = sizeof(int64_t) + sizeof(uint16_t);
    return n * (sizeof(struct step_mark) + order) + n / STEPS_RUN * sizeof(struct step_run) +
           n / STEPS_SUMMED * sizeof(struct step_sums);
}

struct steps_sum steps_together(const struct rank_marks *r, size_t i, int64_t begin_by,
                                int64_t within_ns)
{
    const enum event_mode mode = r->v[i].mode;
    const int64_t begin = r->v[i].start;
    const size_t first = i;
    struct steps_sum out = {.dur_ns = r->v[i++].dur_ns};
    while (i < r->n) {
        const struct step_run *run = step_run_at(r, i, r->n);
        const struct step_mark *m = &r->v[i];
        if (run && !run->mixed && run->mode == mode && run->end < begin_by &&
            run->end - begin < within_ns) {
            out.dur_ns += run->dur_ns;
            i += STEPS_RUN;
            continue;
        }
        if (m->mode != mode || m->start >= begin_by || m->start + m->dur_ns - begin >= within_ns)
            break;
        out.dur_ns += m->dur_ns;
        i++;
    }
    out.n = i - first;
    return out;
}
