/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_events.c - all recorded events, summed by process, track and name. */
#include <stdio.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/window.h"
#include "query/eventsum.h"

enum { O_DETAIL, O_FROM, O_TO };

static const struct opt options[] = {
    [O_DETAIL] = {"detail", 0, NULL, OPT_FLAG,
                  .help = "Include events of detail windows and imported traces ('footplate ops' "
                          "lists them by operator)."},
    [O_FROM] = {OPT_ROW_FROM},
    [O_TO] = {OPT_ROW_TO},
    OPT_ROWS_OUTPUT,
};

/* "rank 0", "worker 3", or nothing but the process id. */
static const char *cmd_events_who(const struct run_process *p, struct arena *a)
{
    if (p->worker >= 0)
        return arena_printf(a, "worker %lld", (long long)p->worker);
    if (p->rank >= 0)
        return arena_printf(a, "rank %lld", (long long)p->rank);
    return arena_printf(a, "pid %u", p->pid);
}

/* New columns come after these. */
static const char csv_columns[] = "node,pid,rank,worker,track,kind,name,category,count,total_s,"
                                  "p50_s,p95_s,max_s,min,max,last";

static void text_row(struct table *t, const struct event_sum *s)
{
    CELL_TEXTS(t, s->track->process->node, cmd_events_who(s->track->process, t->arena),
               s->track->track.name, *s->name ? s->name : event_kind_names[s->kind]);
    cell_count(t, s->count);
    CELL_VALUES(t, "s", s->total_s, s->p50_s, s->p95_s, s->max_s);
    CELL_VALUES(t, "", s->min, s->last, s->max);
}

static void cmd_events_print_text(const struct event_sum *v, size_t n, struct arena *a)
{
    struct table t;
    table_init(&t, a, "NODE|PROCESS|TRACK|~NAME|>COUNT|>TOTAL|>P50|>P95|>LONGEST|>MIN|>LAST|>MAX");
    for (size_t i = 0; i < n; i++)
        text_row(&t, &v[i]);
    output_table(&t);
}

static int cmd_events_on_run(struct run *r, const struct cmd_args *args, struct arena *a,
                             struct err *e)
{
    wall_ns window[2];
    struct event_sum *v;
    size_t n;
    TRY(window_of(&args->opt[O_FROM], &args->opt[O_TO], run_get_info(r), window, e));
    TRY(event_sums(r, window[0], window[1], args->opt[O_DETAIL].given, a, &v, &n, e));
    if (args->output == OUTPUT_JSON) {
        output_json(&row_EventSum, v, n);
        putchar('\n');
    } else if (args->output == OUTPUT_CSV) {
        output_csv(&row_EventSum, csv_columns, v, n, a);
    } else if (n == 0) {
        printf("no events were recorded; see docs/steps.md\n");
    } else {
        cmd_events_print_text(v, n, a);
    }
    return 0;
}

const struct cmd cmd_events = {
    .name = "events",
    .summary = "list recorded spans, GPU phases and counters",
    .args = cmd_arg_run,
    .options = options,
    .help = CMD_HELP("Lists everything that the job's processes reported through the hooks or the "
                     "API: spans with count and duration, GPU phases, and counters (data loader "
                     "queue depth, CUDA allocator bytes, user counters) with their minimum, last "
                     "and maximum value."),
    .examples = CMD_EXAMPLES(
        {"footplate events last", "List all events, longest first."},
        {"footplate events last --from -60s --json", "Print the last minute as JSON."}),
    .on_run = cmd_events_on_run,
};
