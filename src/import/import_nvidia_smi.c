/* SPDX-License-Identifier: Apache-2.0 */
/* import_nvidia_smi.c - the CSV of `nvidia-smi --query-gpu=... --format=csv -l`.
 *
 *     timestamp, index, utilization.gpu [%], memory.used [MiB]
 *     2026/11/15 16:00:01.123, 0, 87 %, 10240 MiB
 *
 * The header defines the columns, so it must be there; units are optional. Times are local times of
 * an unknown zone: they are read as UTC, or as of the zone of the environment's TZ. Each GPU is a
 * separate group, because its lines have other times. */
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/bytes_in.h"
#include "base/mem.h"
#include "base/vec.h"
#include "import/importer.h"
#include "record/group.h"

enum { LINE_MOST = 16 << 10, LINES_READ = 64 << 10 };

/* Zeroed with `in` set, it is ready; nothing has to be freed. */
struct import_lines {
    struct bytes_in *in;
    uint64_t bytes; /* read so far */
    size_t begin, end;
    bool ended;
    char buf[LINES_READ + LINE_MOST];
};

enum { SMI_COLUMNS_MOST = 256, SMI_GPUS_MOST = 1024, SMI_IDENTITY_LEN = 64 };

/* As in the line: trimmed, not terminated. */
struct smi_field {
    const char *p;
    size_t len;
};

enum smi_role {
    SMI_UNKNOWN, /* there is nothing of ours that it could be */
    SMI_TIME,
    SMI_INDEX,    /* which GPU, by its number */
    SMI_IDENTITY, /* which GPU, by a text */
    SMI_ABOUT,    /* what the GPU is; it does not change */
    SMI_METRIC,
    SMI_REASON, /* one reason of gpu.throttle: Active or Not Active */
};

struct smi_column {
    enum smi_role role;
    enum metric_id metric; /* of SMI_METRIC */
    double counts;         /* of the metric for one of what is there without a unit */
    uint64_t bit;          /* of SMI_REASON */
    int rank;              /* the lowest of a role or metric counts: it is the most precise */
};

enum smi_value {
    SMI_GOOD,
    SMI_ABSENT, /* "[N/A]", "[Not Supported]" and the like: not reported */
    SMI_BAD,    /* neither */
};

/* ---- GPUs ---- */

struct smi_series {
    enum metric_id metric;
    size_t column; /* SIZE_MAX: it is worked out of several */
};

enum { SMI_SERIES_MOST = SMI_COLUMNS_MOST + 2 };

struct smi_gpu {
    char identity[SMI_IDENTITY_LEN], entity[ENTITY_LEN];
    struct group group; /* opened with the second row: then the period is known */
    bool open, waiting;
    mono_ns first_at;
    double *first;    /* the row that waits; NAN: missing */
    uint64_t *absent; /* by series: how often there was no value */
};

struct smi {
    const struct import_ask *ask;
    struct import_result *result;
    bool zone; /* the environment names one */
    struct smi_column columns[SMI_COLUMNS_MOST];
    size_t n_columns;             /* 0: the header has not come */
    size_t time, index, identity; /* columns; SIZE_MAX: there is none */
    struct smi_series series[SMI_SERIES_MOST];
    size_t n_series;
    struct smi_gpu *gpus;
    size_t n_gpus;
    bool some; /* `last` is the time of the line before */
    mono_ns last;
    double row[SMI_SERIES_MOST]; /* by series; NAN: missing */
};

/* ------------------------------------------------------------------------------------------------
 * Lines of a text of any size, in bounded memory */

/* Moves what is left to the front and reads after it. */
static int import_lines_fill(struct import_lines *l, struct err *e)
{
    const size_t have = l->end - l->begin;
    memmove(l->buf, l->buf + l->begin, have);
    l->begin = 0;
    l->end = have;
    const int64_t n = l->in->read(l->in, l->buf + have, LINES_READ, e);
    if (n < 0)
        return (int)n;
    l->ended = n == 0;
    l->end += (size_t)n;
    l->bytes += (uint64_t)n;
    return 0;
}

/* The next line, without its end, good until the next call. 1, 0 at the end, or the negative code
 * of `e`. A line longer than LINE_MOST is handed out in parts. */
static int import_lines_next(struct import_lines *l, const char **p, size_t *len, struct err *e)
{
    for (;;) {
        const size_t have = l->end - l->begin;
        const char *at = l->buf + l->begin;
        const char *end = memchr(at, '\n', have);
        if (end || have >= LINE_MOST || (l->ended && have)) {
            *p = at;
            *len = end ? (size_t)(end - at) : have;
            l->begin += *len + (end != NULL);
            return 1;
        }
        if (l->ended)
            return 0;
        const int rc = import_lines_fill(l, e);
        if (rc != 0)
            return rc;
    }
}

/* ------------------------------------------------------------------------------------------------
 * Columns and their values */

#define MIB 1048576.0

/* The titles of a column, without the unit. Names of old and new drivers. `counts`: see
 * metrics.def; powers are in mW there, bytes in bytes. */
static const struct {
    const char *title;
    struct smi_column is;
} columns[] = {
    {"timestamp", {.role = SMI_TIME}},
    {"index", {.role = SMI_INDEX}},
    {"uuid", {.role = SMI_IDENTITY, .rank = 1}},
    {"gpu_uuid", {.role = SMI_IDENTITY, .rank = 1}},
    {"pci.bus_id", {.role = SMI_IDENTITY, .rank = 2}},
    {"gpu_bus_id", {.role = SMI_IDENTITY, .rank = 2}},
    {"serial", {.role = SMI_IDENTITY, .rank = 3}},
    {"gpu_serial", {.role = SMI_IDENTITY, .rank = 3}},
    {"name", {.role = SMI_ABOUT}},
    {"gpu_name", {.role = SMI_ABOUT}},
    {"count", {.role = SMI_ABOUT}},
    {"driver_version", {.role = SMI_ABOUT}},
    {"vbios_version", {.role = SMI_ABOUT}},
    {"persistence_mode", {.role = SMI_ABOUT}},
    {"compute_mode", {.role = SMI_ABOUT}},
    {"compute_cap", {.role = SMI_ABOUT}},

    {"utilization.gpu", {SMI_METRIC, M_GPU_UTIL, 1, 0, 0}},
    {"utilization.memory", {SMI_METRIC, M_GPU_MEM_CTRL, 1, 0, 0}},
    {"memory.used", {SMI_METRIC, M_GPU_MEM_USED, MIB, 0, 0}},
    {"memory.total", {SMI_METRIC, M_GPU_MEM_TOTAL, MIB, 0, 0}},
    {"memory.reserved", {SMI_METRIC, M_GPU_MEM_RESERVED, MIB, 0, 0}},
    {"power.draw", {SMI_METRIC, M_GPU_POWER, 1000, 0, 0}},
    {"power.draw.instant", {SMI_METRIC, M_GPU_POWER, 1000, 0, 1}},
    {"power.draw.average", {SMI_METRIC, M_GPU_POWER, 1000, 0, 2}},
    {"enforced.power.limit", {SMI_METRIC, M_GPU_POWER_LIMIT, 1000, 0, 0}},
    {"power.limit", {SMI_METRIC, M_GPU_POWER_LIMIT, 1000, 0, 1}},
    {"clocks.current.sm", {SMI_METRIC, M_GPU_CLOCK_SM, 1, 0, 0}},
    {"clocks.sm", {SMI_METRIC, M_GPU_CLOCK_SM, 1, 0, 0}},
    {"clocks.current.memory", {SMI_METRIC, M_GPU_CLOCK_MEM, 1, 0, 0}},
    {"clocks.mem", {SMI_METRIC, M_GPU_CLOCK_MEM, 1, 0, 0}},
    {"temperature.gpu", {SMI_METRIC, M_GPU_TEMP, 1, 0, 0}},
    {"temperature.memory", {SMI_METRIC, M_GPU_TEMP_MEM, 1, 0, 0}},
    {"clocks_event_reasons.active", {SMI_METRIC, M_GPU_THROTTLE, 1, 0, 0}},
    {"clocks_throttle_reasons.active", {SMI_METRIC, M_GPU_THROTTLE, 1, 0, 0}},
};

/* After "clocks_throttle_reasons." or "clocks_event_reasons."; bits as the driver's library has
 * them, which are those of gpu.throttle. */
static const struct {
    const char *word;
    uint64_t bit;
} reasons[] = {
    {"gpu_idle", 0x1},
    {"applications_clocks_setting", 0x2},
    {"sw_power_cap", 0x4},
    {"hw_slowdown", 0x8},
    {"sync_boost", 0x10},
    {"sw_thermal_slowdown", 0x20},
    {"hw_thermal_slowdown", 0x40},
    {"hw_power_brake_slowdown", 0x80},
};

static bool field_is(struct smi_field f, const char *word)
{
    return strlen(word) == f.len && strncasecmp(f.p, word, f.len) == 0;
}

static struct smi_field smi_trimmed(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    return (struct smi_field){p, (size_t)(end - p)};
}

/* ---- titles ---- */

static struct smi_column reason_of(struct smi_field name)
{
    static const char *const prefixes[] = {"clocks_throttle_reasons.", "clocks_event_reasons."};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        const size_t n = strlen(prefixes[i]);
        if (name.len <= n || strncasecmp(name.p, prefixes[i], n) != 0)
            continue;
        for (size_t k = 0; k < COUNT_OF(reasons); k++)
            if (field_is((struct smi_field){name.p + n, name.len - n}, reasons[k].word))
                return (struct smi_column){.role = SMI_REASON, .bit = reasons[k].bit};
    }
    return (struct smi_column){.role = SMI_UNKNOWN};
}

/* What "utilization.gpu [%]" is. */
static struct smi_column smi_column_of(struct smi_field title)
{
    const char *unit = memchr(title.p, '[', title.len);
    const struct smi_field name = smi_trimmed(title.p, unit ? unit : title.p + title.len);
    const size_t at = FIND_FIRST(i, COUNT_OF(columns), field_is(name, columns[i].title));
    return at < COUNT_OF(columns) ? columns[at].is : reason_of(name);
}

/* True when it looks like a title and not like a value. */
static bool smi_is_title(struct smi_field f)
{
    return smi_column_of(f).role != SMI_UNKNOWN;
}

/* ---- values ---- */

/* Units that may be after a number; what they are worth of the unit that the column has when
 * none is there. */
static const struct {
    const char *unit;
    double factor;
} units[] = {
    {"", 1},  {"%", 1},     {"MiB", 1}, {"GiB", 1024}, {"KiB", 1.0 / 1024},
    {"W", 1}, {"mW", 1e-3}, {"MHz", 1}, {"C", 1},
};

/* The words for a missing value. Brackets mean the same. */
static const char *const absents[] = {"", "N/A", "Not Supported", "Unknown Error", "Unknown"};

static bool smi_is_absent(struct smi_field f)
{
    return FIND_ANY(i, COUNT_OF(absents), field_is(f, absents[i])) ||
           (f.len >= 2 && f.p[0] == '[' && f.p[f.len - 1] == ']');
}

/* The value in counts of the column's metric, whatever unit is after it. */
static enum smi_value smi_number(const struct smi_column *c, struct smi_field f, double *out)
{
    char text[64], *end;
    if (smi_is_absent(f))
        return SMI_ABSENT;
    if (f.len >= sizeof text)
        return SMI_BAD;
    memcpy(text, f.p, f.len);
    text[f.len] = '\0';
    const bool hex = strncmp(text, "0x", 2) == 0;
    double v = hex ? (double)strtoull(text, &end, 16) : strtod(text, &end);
    const struct smi_field unit = smi_trimmed(end, text + f.len);
    if (end == text || !isfinite(v))
        return SMI_BAD;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (field_is(unit, units[i].unit)) {
            *out = v * units[i].factor * c->counts;
            return SMI_GOOD;
        }
    return SMI_BAD;
}

/* ---- times ---- */

/* Digits after the point, as nanoseconds. */
static bool fraction_ns(const char *p, int64_t *out)
{
    int64_t unit = NS_PER_S / 10;
    *out = 0;
    if (*p == '\0')
        return true;
    if (*p++ != '.')
        return false;
    for (; isdigit((unsigned char)*p); p++, unit /= 10)
        *out += (*p - '0') * unit;
    return *p == '\0';
}

/* "2026/11/15 16:00:01.123", in UTC, or in the zone of TZ where the environment has one. */
static bool smi_time(struct smi_field f, bool zone, wall_ns *out)
{
    char text[40];
    struct tm t = {0};
    int64_t fraction;
    if (f.len == 0 || f.len >= sizeof text)
        return false;
    memcpy(text, f.p, f.len);
    text[f.len] = '\0';
    const char *rest = strptime(text, "%Y/%m/%d %H:%M:%S", &t);
    if (!rest || t.tm_year < 70 || t.tm_year >= 300 || !fraction_ns(rest, &fraction))
        return false;
    t.tm_isdst = -1;
    const time_t s = zone ? mktime(&t) : timegm(&t);
    out->ns = (int64_t)s * NS_PER_S + fraction;
    return s >= 0;
}

/* ---- lines ---- */

/* Splits at commas; returns how many fields there are, at most `most` of them written. */
static size_t smi_split(const char *line, size_t len, struct smi_field *out, size_t most)
{
    size_t n = 0;
    const char *const end = line + len;
    for (const char *p = line;; p++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        if (n < most)
            out[n] = smi_trimmed(p, comma ? comma : end);
        n++;
        if (!comma)
            return n;
        p = comma;
    }
}

/* ------------------------------------------------------------------------------------------------
 * GPUs and their rows */

static bool same_gpu(const struct smi_gpu *g, struct smi_field id)
{
    return strlen(g->identity) == id.len && memcmp(g->identity, id.p, id.len) == 0;
}

static struct smi_gpu *smi_add_gpu(struct smi *s, struct smi_field id)
{
    struct smi_gpu *g = &s->gpus[s->n_gpus];
    *g = (struct smi_gpu){.first = xcalloc(s->n_series, sizeof *g->first),
                          .absent = xcalloc(s->n_series, sizeof *g->absent)};
    memcpy(g->identity, id.p, id.len);
    if (s->index != SIZE_MAX)
        snprintf(g->entity, sizeof g->entity, "gpu%.*s", (int)MIN_OF(id.len, 40u), id.p);
    else
        snprintf(g->entity, sizeof g->entity, "gpu%zu", s->n_gpus);
    s->n_gpus++;
    return g;
}

/* The GPU that the line is of, made when it is new. NULL: too many, or it has no name. */
static struct smi_gpu *smi_gpu_of(struct smi *s, const struct smi_field *f)
{
    const size_t column = s->index != SIZE_MAX ? s->index : s->identity;
    const struct smi_field id = column != SIZE_MAX ? f[column] : (struct smi_field){"0", 1};
    if (id.len == 0 || id.len >= SMI_IDENTITY_LEN)
        return NULL;
    for (size_t i = 0; i < s->n_gpus; i++)
        if (same_gpu(&s->gpus[i], id))
            return &s->gpus[i];
    return s->n_gpus < SMI_GPUS_MOST ? smi_add_gpu(s, id) : NULL;
}

/* ---- rows ---- */

/* Slots are numbered as series are. */
static void smi_open_group(const struct smi *s, struct smi_gpu *g, int64_t period_ns)
{
    group_open(&g->group, g->entity, period_ns);
    for (size_t i = 0; i < s->n_series; i++)
        (void)group_add(&g->group, s->series[i].metric, g->entity);
    g->open = true;
}

static void commit(struct smi *s, struct smi_gpu *g, const double *row, mono_ns at)
{
    uint64_t kept = 0;
    for (size_t i = 0; i < s->n_series; i++)
        if (!isnan(row[i])) {
            group_gauge(&g->group, (slot_id)i, row[i]);
            kept++;
        }
    group_commit(&g->group, s->ask->sink, at);
    if (kept)
        import_note_span(s->result, at.ns, at.ns);
    s->result->count[IMPORTED_READINGS] += kept;
}

static void smi_gpu_row(struct smi *s, struct smi_gpu *g, const double *row, mono_ns at)
{
    if (!g->open && !g->waiting) {
        g->waiting = true;
        g->first_at = at;
        memcpy(g->first, row, s->n_series * sizeof *row);
        return;
    }
    if (g->waiting) {
        const int64_t period = at.ns - g->first_at.ns;
        smi_open_group(s, g, period > 0 && period < 3600 * NS_PER_S ? period : NS_PER_S);
        commit(s, g, g->first, g->first_at);
        g->waiting = false;
    }
    commit(s, g, row, at);
}

/* ---- the end ---- */

static void smi_put_absent(struct smi *s, const struct smi_gpu *g)
{
    for (size_t i = 0; i < s->n_series; i++) {
        const struct loss_subject of = {.entity = g->entity, .metric = s->series[i].metric};
        struct loss l = loss_of(LOSS_UNSUPPORTED, of, "no value from nvidia-smi");
        l.count = g->absent[i];
        l.at = s->result->first;
        if (l.count && s->ask->sink->ops->loss)
            s->ask->sink->ops->loss(s->ask->sink, &l);
    }
}

/* Emits what waits and what was missing, and frees. */
static void smi_gpu_end(struct smi *s, struct smi_gpu *g)
{
    if (g->waiting) {
        smi_open_group(s, g, NS_PER_S);
        commit(s, g, g->first, g->first_at);
    }
    smi_put_absent(s, g);
    if (g->open)
        group_close(&g->group);
    free(g->first);
    free(g->absent);
}

/* ------------------------------------------------------------------------------------------------
 * The file */

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

static struct smi_series *smi_series_of(struct smi *s, enum metric_id m)
{
    return FIND_ITEM(x, s->series, s->n_series, x->metric == m);
}

static void smi_add_series(struct smi *s, enum metric_id m, size_t column)
{
    struct smi_series *old = smi_series_of(s, m);
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
            smi_add_series(s, s->columns[i].metric, i);
    if (best_column(s, SMI_REASON) != SIZE_MAX)
        smi_add_series(s, M_GPU_THROTTLE, SIZE_MAX);
    if (smi_series_of(s, M_GPU_MEM_USED) && smi_series_of(s, M_GPU_MEM_TOTAL))
        smi_add_series(s, M_GPU_MEM, SIZE_MAX);
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

static int smi_read_header(struct smi *s, const struct smi_field *f, size_t n, struct err *e)
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
    bool known = false;
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i].role == SMI_REASON) {
            const bool active = field_is(f[i], "Active");
            known = known || active || field_is(f[i], "Not Active");
            bits |= active ? s->columns[i].bit : 0;
        }
    return known ? (double)bits : NAN;
}

/* In tenths of a percent, as gpu.mem counts. */
static double memory_share(struct smi *s)
{
    const double used = s->row[smi_series_of(s, M_GPU_MEM_USED) - s->series];
    const double total = s->row[smi_series_of(s, M_GPU_MEM_TOTAL) - s->series];
    return total > 0 ? 1000 * used / total : NAN;
}

static void smi_read_values(struct smi *s, struct smi_gpu *g, const struct smi_field *f)
{
    for (size_t i = 0; i < s->n_series; i++) {
        const size_t c = s->series[i].column;
        enum smi_value is = SMI_GOOD;
        s->row[i] = NAN;
        if (c == SIZE_MAX)
            s->row[i] = s->series[i].metric == M_GPU_MEM ? memory_share(s) : throttle_of(s, f);
        else
            is = smi_number(&s->columns[c], f[c], &s->row[i]);
        g->absent[i] += is == SMI_ABSENT;
        s->result->count[IMPORTED_NO_VALUE] += is == SMI_BAD;
    }
}

/* Without a column that identifies the GPU there must be one only. */
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

static int smi_read_values_line(struct smi *s, const struct smi_field *f, struct err *e)
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
        smi_read_values(s, g, f);
        smi_gpu_row(s, g, s->row, at);
    } else if (rc == 0) {
        s->result->count[IMPORTED_TRACKS]++;
    }
    return rc;
}

/* One line without its end; `cut`: the file ends in it. */
static int smi_read_line(struct smi *s, const char *line, size_t len, bool cut, struct err *e)
{
    struct smi_field f[SMI_COLUMNS_MOST];
    const size_t n = smi_split(line, len, f, SMI_COLUMNS_MOST);
    if (n == 1 && f[0].len == 0)
        return 0;
    if (s->n_columns == 0)
        return smi_read_header(s, f, n, e);
    if (smi_is_title(f[s->time])) /* one log after the other */
        return 0;
    if (n == s->n_columns)
        return smi_read_values_line(s, f, e);
    if (cut)
        s->result->faults.cut++;
    else
        s->result->faults.unread++;
    return 0;
}

/* ---- the importer ---- */

static int smi_read_lines(struct smi *s, struct err *e)
{
    struct import_lines *l = xcalloc(1, sizeof *l);
    const char *p = "";
    size_t len = 0;
    int rc;
    l->in = s->ask->in;
    while ((rc = import_lines_next(l, &p, &len, e)) > 0) {
        const size_t bom = s->n_columns == 0 && len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0;
        rc = smi_read_line(s, p + 3 * bom, len - 3 * bom, l->ended && l->begin == l->end, e);
        if (rc != 0)
            break;
    }
    s->result->bytes = l->bytes;
    free(l);
    return rc;
}

static int smi_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct smi *s = xcalloc(1, sizeof *s);
    *out = (struct import_result){.rank = -1, .world_size = -1};
    s->ask = ask;
    s->result = out;
    s->zone = getenv("TZ") != NULL;
    s->gpus = xcalloc(SMI_GPUS_MOST, sizeof *s->gpus);
    int rc = smi_read_lines(s, e);
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

static int smi_sniff(const char *head, size_t n)
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
    const size_t known = SUM_OF(i, fields, smi_is_title(f[i]));
    /* Values where the header should be: this importer reports that. */
    return known > 0 && known * 2 >= fields ? 95 : smi_time(f[0], false, &t) ? 50 : 0;
}

const struct importer importer_nvidia_smi = {
    .name = "nvidia_smi",
    .help = "nvidia-smi --query-gpu=timestamp,index,... --format=csv -l",
    .sniff = smi_sniff,
    .run = smi_run,
};
