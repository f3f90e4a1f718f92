/* SPDX-License-Identifier: Apache-2.0 */
/* import_nvidia_smi.c - what `nvidia-smi --query-gpu=... --format=csv -l` writes.
 *
 *     timestamp, index, utilization.gpu [%], memory.used [MiB]
 *     2026/11/15 16:00:01.123, 0, 87 %, 10240 MiB
 *
 * The header says what the columns are, so it must be there; units may be left out. Times are
 * local to who wrote the file and the file does not say where that was: they are taken as UTC, or
 * as of the zone that the environment's TZ names. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/import_lines.h"
#include "import/nvidia_smi.h"

/* Lines nearer than this are of several GPUs. */
#define SAME_MOMENT_NS (20 * NS_PER_MS)

/* ---- the header ---- */

static size_t best_column(const struct smi *s, enum smi_role role)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i].role == role &&
            (best == SIZE_MAX || s->columns[i].rank < s->columns[best].rank))
            best = i;
    return best;
}

static struct smi_series *import_nvidia_smi_series_of(struct smi *s, enum metric_id m)
{
    for (size_t i = 0; i < s->n_series; i++)
        if (s->series[i].metric == m)
            return &s->series[i];
    return NULL;
}

static void import_nvidia_smi_add_series(struct smi *s, enum metric_id m, size_t column)
{
    struct smi_series *old = import_nvidia_smi_series_of(s, m);
    if (!old)
        s->series[s->n_series++] = (struct smi_series){m, column};
    else if (column != SIZE_MAX && old->column != SIZE_MAX &&
             s->columns[column].rank < s->columns[old->column].rank)
        old->column = column;
}

static void choose_series(struct smi *s)
{
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i].role == SMI_METRIC)
            import_nvidia_smi_add_series(s, s->columns[i].metric, i);
    if (best_column(s, SMI_REASON) != SIZE_MAX)
        import_nvidia_smi_add_series(s, M_GPU_THROTTLE, SIZE_MAX);
    if (import_nvidia_smi_series_of(s, M_GPU_MEM_USED) &&
        import_nvidia_smi_series_of(s, M_GPU_MEM_TOTAL))
        import_nvidia_smi_add_series(s, M_GPU_MEM, SIZE_MAX);
}

static void lose_column(struct smi *s, struct smi_field title)
{
    char part[ENTITY_LEN];
    s->result->count[IMPORTED_NO_METRIC]++;
    snprintf(part, sizeof part, "column %.*s", (int)MIN_OF(title.len, 50u), title.p);
    const struct loss l = loss_of(LOSS_UNSUPPORTED, LOST_PART(part), "no matching metric");
    if (s->ask->sink->ops->loss)
        s->ask->sink->ops->loss(s->ask->sink, &l);
}

static int read_header(struct smi *s, const struct smi_field *f, size_t n, struct err *e)
{
    if (n > SMI_COLUMNS_MOST)
        return err_set(e, ERR_LIMIT, "the header has %zu columns; only %d are read", n,
                       SMI_COLUMNS_MOST);
    s->n_columns = n;
    for (size_t i = 0; i < n; i++)
        s->columns[i] = smi_column_of(f[i]);
    s->time = best_column(s, SMI_TIME);
    s->index = best_column(s, SMI_INDEX);
    s->identity = best_column(s, SMI_IDENTITY);
    if (s->time == SIZE_MAX)
        return err_set(e, ERR_FORMAT,
                       "no nvidia-smi header with a timestamp: use --query-gpu=timestamp,index,... "
                       "--format=csv, without noheader");
    choose_series(s);
    for (size_t i = 0; i < n; i++)
        if (s->columns[i].role == SMI_UNKNOWN)
            lose_column(s, f[i]);
    return s->n_series ? 0 : err_set(e, ERR_FORMAT, "the header contains no known metric");
}

/* ---- lines ---- */

static double throttle_of(const struct smi *s, const struct smi_field *f)
{
    uint64_t bits = 0;
    bool known = false, active;
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i].role == SMI_REASON && smi_reason(f[i], &active) == SMI_GOOD) {
            known = true;
            bits |= active ? s->columns[i].bit : 0;
        }
    return known ? (double)bits : NAN;
}

/* In tenths of a percent, as gpu.mem counts. */
static double memory_share(struct smi *s)
{
    const double used = s->row[import_nvidia_smi_series_of(s, M_GPU_MEM_USED) - s->series];
    const double total = s->row[import_nvidia_smi_series_of(s, M_GPU_MEM_TOTAL) - s->series];
    return total > 0 ? 1000 * used / total : NAN;
}

static double worked_out(struct smi *s, enum metric_id m, const struct smi_field *f)
{
    return m == M_GPU_MEM ? memory_share(s) : throttle_of(s, f);
}

static void read_values(struct smi *s, struct smi_gpu *g, const struct smi_field *f)
{
    for (size_t i = 0; i < s->n_series; i++) {
        const size_t c = s->series[i].column;
        enum smi_value is = SMI_GOOD;
        s->row[i] = NAN;
        if (c == SIZE_MAX)
            s->row[i] = worked_out(s, s->series[i].metric, f);
        else
            is = smi_number(&s->columns[c], f[c], &s->row[i]);
        g->absent[i] += is == SMI_ABSENT;
        s->result->count[IMPORTED_NO_VALUE] += is == SMI_BAD;
    }
}

/* Without a column that tells GPUs apart there must be one only. */
static int check_one(struct smi *s, mono_ns at, struct err *e)
{
    const bool alone = s->index != SIZE_MAX || s->identity != SIZE_MAX;
    if (!alone && s->some && at.ns - s->last.ns < SAME_MOMENT_NS)
        return err_set(e, ERR_FORMAT,
                       "the file seems to contain several GPUs, but no column identifies them: add "
                       "index to --query-gpu");
    s->some = true;
    s->last = at;
    return 0;
}

static int read_values_line(struct smi *s, const struct smi_field *f, struct err *e)
{
    wall_ns wall;
    mono_ns at;
    if (!smi_time(f[s->time], s->zone, &wall)) {
        s->result->count[IMPORTED_NO_TIME]++;
        return 0;
    }
    at.ns = wall.ns - s->ask->wall_minus_mono_ns;
    const int rc = check_one(s, at, e);
    struct smi_gpu *g = rc == 0 ? smi_gpu_of(s, f) : NULL;
    if (g) {
        read_values(s, g, f);
        smi_gpu_row(s, g, s->row, at);
    } else if (rc == 0) {
        s->result->count[IMPORTED_TRACKS]++;
    }
    return rc;
}

/* One line without its end; `cut`: the file ends in it. */
static int import_nvidia_smi_read_line(struct smi *s, const char *line, size_t len, bool cut,
                                       struct err *e)
{
    struct smi_field f[SMI_COLUMNS_MOST];
    const size_t n = smi_split(line, len, f, SMI_COLUMNS_MOST);
    if (n == 1 && f[0].len == 0)
        return 0;
    if (s->n_columns == 0)
        return read_header(s, f, n, e);
    if (smi_is_title(f[s->time])) /* one log behind the other */
        return 0;
    if (n == s->n_columns)
        return read_values_line(s, f, e);
    if (cut)
        s->result->faults.cut++;
    else
        s->result->faults.unread++;
    return 0;
}

/* ---- the importer ---- */

static int import_nvidia_smi_read_lines(struct smi *s, struct err *e)
{
    struct import_lines *l = xcalloc(1, sizeof *l);
    const char *p;
    size_t len;
    int rc;
    l->in = s->ask->in;
    while ((rc = import_lines_next(l, &p, &len, e)) > 0) {
        const size_t bom = s->n_columns == 0 && len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0;
        rc = import_nvidia_smi_read_line(s, p + 3 * bom, len - 3 * bom, import_lines_at_end(l), e);
        if (rc != 0)
            break;
    }
    s->result->bytes = l->bytes;
    free(l);
    return rc;
}

static int import_nvidia_smi_run(const struct import_ask *ask, struct import_result *out,
                                 struct err *e)
{
    struct smi *s = xcalloc(1, sizeof *s);
    *out = (struct import_result){.rank = -1, .world_size = -1};
    s->ask = ask;
    s->result = out;
    s->zone = getenv("TZ") != NULL;
    s->gpus = xcalloc(SMI_GPUS_MOST, sizeof *s->gpus);
    int rc = import_nvidia_smi_read_lines(s, e);
    for (size_t i = 0; i < s->n_gpus; i++)
        smi_gpu_end(s, &s->gpus[i]);
    if (rc == 0 && s->n_columns == 0)
        rc = err_set(e, ERR_FORMAT, "the file has no lines");
    else if (rc == 0 && out->count[IMPORTED_READINGS] == 0)
        rc = err_set(e, ERR_FORMAT, "the file has a header but no readings");
    free(s->gpus);
    free(s);
    return rc;
}

static int import_nvidia_smi_sniff(const char *head, size_t n)
{
    struct smi_field f[SMI_COLUMNS_MOST];
    wall_ns t;
    const char *end = memchr(head, '\n', n);
    const size_t bom = n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const size_t len = (end ? (size_t)(end - head) : n) - bom;
    if (len > LINE_MOST)
        return 0;
    const size_t fields =
        MIN_OF(smi_split(head + bom, len, f, SMI_COLUMNS_MOST), (size_t)SMI_COLUMNS_MOST);
    size_t known = 0;
    for (size_t i = 0; i < fields; i++)
        known += smi_is_title(f[i]);
    /* Values where the header should be: it is ours to say so. */
    return known > 0 && known * 2 >= fields ? 95 : smi_time(f[0], false, &t) ? 50 : 0;
}

const struct importer importer_nvidia_smi = {
    .name = "nvidia_smi",
    .help = "nvidia-smi --query-gpu=timestamp,index,... --format=csv -l",
    .sniff = import_nvidia_smi_sniff,
    .run = import_nvidia_smi_run,
};
