/* SPDX-License-Identifier: Apache-2.0 */
/* opsview.c - see opsview.h. */
#include "tables/opsview.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

const char *const op_device_names[] = {[OP_CPU] = "cpu", [OP_GPU] = "gpu", NULL};
const char *const ops_by_names[] = {
    [OPS_BY_NAME] = "name",
    [OPS_BY_MODULE] = "module",
    [OPS_BY_FUNCTION] = "function",
    [OPS_BY_GROUP] = "group",
    NULL,
};

const char *op_group(const struct op_row *r)
{
    const bool kernel = r->category == CAT_KERNEL || r->category == CAT_MEMCPY ||
                        r->category == CAT_MEMSET || r->category == CAT_COMM;
    return r->device == OP_GPU && kernel ? kernel_group_names[r->group] : NULL;
}

double op_mean_s(const struct op_row *r)
{
    return r->calls ? ns_to_s(r->total_ns) / (double)r->calls : r->phase ? NAN : 0;
}

bool op_same_table(const struct op_row *x, const struct op_row *y)
{
    return x->device == y->device &&
           (!x->phase || (strcmp(x->phase, y->phase) == 0 && strcmp(x->timer, y->timer) == 0));
}

/* Filters out all but the first `limit` rows of each device that is wanted, and of each phase of
 * functions. */
static void cut(struct opsview *l, const struct opsview_ask *ask)
{
    struct op_row before;
    size_t kept = 0, seen[2] = {0, 0};
    for (size_t i = 0; i < l->n; i++) {
        const enum op_device d = l->v[i].device;
        if (l->v[i].phase && (i == 0 || !op_same_table(&l->v[i], &before)))
            seen[d] = 0;
        before = l->v[i];
        if ((ask->device < 0 || ask->device == (int64_t)d) && seen[d]++ < ask->limit)
            l->v[kept++] = l->v[i];
    }
    l->n = kept;
}

int opsview_read(struct opsview *out, struct run *r, const struct opsview_ask *ask, struct arena *a,
                 struct err *e)
{
    TRY(ops_read(r, &ask->ops, a, &out->v, &out->n, e));
    cut(out, ask);
    return 0;
}

void opsview_json(struct jw *j, const struct opsview *l)
{
    rows_json(j, NULL, &row_Op, l->v, l->n, NULL);
}

/* ---- where the time of steps went ---- */

const char *const break_table_names[] = {"steps",  "devices", "streams", "groups",
                                         "memory", "windows", NULL};

double time_share(int64_t ns, int64_t of)
{
    return of > 0 ? (double)ns / (double)of : 0;
}

const char *memory_name(const struct memcurve *c, struct arena *a)
{
    return c->device == MEM_CPU ? "cpu" : arena_printf(a, "gpu%" PRId64, c->device);
}

/* ---- rows ---- */

static double us(int64_t ns)
{
    return (double)ns / (double)NS_PER_US;
}

/* Of a stream, what is known only where launches are. */
static int64_t of_launches(const struct stream_row *s, int64_t v)
{
    return s->launches ? v : -1;
}

static double delay_us(const struct stream_row *s, int64_t ns)
{
    return s->launches ? (double)ns * 1e-3 : NAN;
}

/* What is written: the tables are bits of enum break_table. */
struct breakdown_view {
    const struct breakdown *b;
    unsigned tables;
};

static struct row_cell table_cell_of(const struct breakdown_view *v, enum break_table t)
{
    return v->tables >> t & 1 ? row_list(breakview_rows(v->b, t), breakview_count(v->b, t), NULL)
                              : row_absent();
}

#define ROWS_FILE "tables/op_rows.def"
#include "base/row_expand.h"

const struct row_table *const break_row_tables[] = {
    [BREAK_STEPS] = &row_BreakdownStep,     [BREAK_DEVICES] = &row_BreakdownDevice,
    [BREAK_STREAMS] = &row_BreakdownStream, [BREAK_GROUPS] = &row_BreakdownGroup,
    [BREAK_MEMORY] = &row_BreakdownMemory,  [BREAK_WINDOWS] = &row_BreakdownWindow,
};

void breakview_json(struct jw *j, const struct breakdown *b, unsigned tables, struct arena *a)
{
    row_json(j, NULL, &row_Breakdown, &(struct breakdown_view){b, tables}, a);
}

/* ---- the rest ---- */

size_t breakview_count(const struct breakdown *b, enum break_table t)
{
    const size_t n[] = {b->n_steps,  b->n_devices, b->n_streams,
                        b->n_groups, b->n_memory,  b->n_windows};
    return n[t];
}

const void *breakview_rows(const struct breakdown *b, enum break_table t)
{
    const void *const rows[] = {b->steps, b->devices, b->streams, b->groups, b->memory, b->windows};
    return rows[t];
}

/* After the last step of the process whose first is `i`. */
static size_t breakview_process_end(const struct breakdown *b, size_t i)
{
    const struct step_row *s = b->steps;
    size_t end = i + 1;
    while (end < b->n_steps && s[i].of.pid == s[end].of.pid &&
           strcmp(s[i].of.node, s[end].of.node) == 0)
        end++;
    return end;
}

void breakview_keep_last(struct breakdown *b, size_t most)
{
    size_t processes = 0, kept = 0;
    if (b->n_steps <= most)
        return;
    for (size_t i = 0; i < b->n_steps; i = breakview_process_end(b, i))
        processes++;
    const size_t each = MAX_OF(most / processes, (size_t)1);
    for (size_t i = 0, end; i < b->n_steps; i = end) {
        end = breakview_process_end(b, i);
        const size_t n = MIN_OF(end - i, each);
        memmove(b->steps + kept, b->steps + end - n, n * sizeof *b->steps);
        kept += n;
    }
    b->earlier_steps = b->n_steps - kept;
    b->n_steps = kept;
}
