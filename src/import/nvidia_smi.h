/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia_smi.h - between the files of the importer of nvidia-smi's CSV: what its columns are and
 * what stands in them (nvidia_smi_columns.c), and the GPUs and their rows (nvidia_smi_gpus.c).
 * Texts are fields as they stand in the line: trimmed, not terminated. */
#ifndef IMPORT_NVIDIA_SMI_H
#define IMPORT_NVIDIA_SMI_H

#include <stdbool.h>
#include <stddef.h>

#include "import/importer.h"
#include "record/group.h"

enum { SMI_COLUMNS_MOST = 256, SMI_GPUS_MOST = 1024, SMI_IDENTITY_LEN = 64 };

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
    double counts;         /* of the metric for one of what stands there without a unit */
    uint64_t bit;          /* of SMI_REASON */
    int rank;              /* the lowest of a role or metric counts: it says it best */
};

/* What "utilization.gpu [%]" is. */
struct smi_column smi_column_of(struct smi_field title);
/* True when it looks like a title and not like a value. */
bool smi_is_title(struct smi_field f);

enum smi_value {
    SMI_GOOD,
    SMI_ABSENT, /* "[N/A]", "[Not Supported]" and the like: the GPU does not say */
    SMI_BAD,    /* neither */
};

/* The value in counts of the column's metric, whatever unit stands behind it. */
enum smi_value smi_number(const struct smi_column *c, struct smi_field f, double *out);
enum smi_value smi_reason(struct smi_field f, bool *active);
/* "2026/11/15 16:00:01.123", in UTC, or in the zone of TZ where the environment has one. */
bool smi_time(struct smi_field f, bool zone, wall_ns *out);

/* Splits at commas; returns how many fields there are, at most `most` of them written. */
size_t smi_split(const char *line, size_t len, struct smi_field *out, size_t most);

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

/* The GPU that the line is of, made when it is new. NULL: too many, or it has no name. */
struct smi_gpu *smi_gpu_of(struct smi *s, const struct smi_field *f);
void smi_gpu_row(struct smi *s, struct smi_gpu *g, const double *row, mono_ns at);
/* Tells what waits and what was missing, and frees. */
void smi_gpu_end(struct smi *s, struct smi_gpu *g);

#endif
