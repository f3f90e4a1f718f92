/* SPDX-License-Identifier: Apache-2.0 */
/* import_summary.h - event files of TensorBoard and of smdebug: records that are messages of the
 * kind Event, their values and tensors, and the statistics that become health events.
 *
 * summary_open, then for each value summary_put, summary_close. */
#ifndef IMPORT_IMPORT_SUMMARY_H
#define IMPORT_IMPORT_SUMMARY_H

#include "base/health_stats.h"
#include "base/tfrecord.h"
#include "import/import_out.h"

/* A record. */
struct summary_event {
    double wall_s;
    int64_t step;
    struct cur summary; /* empty: it has none */
    bool version;       /* the first record of TensorBoard's files */
    bool own;           /* with `version`: Footplate wrote the file */
};

enum { SUMMARY_PLUGINS = 4 };

struct tag_text {
    const char *p;
    size_t len;
};

bool tag_text_is(struct tag_text t, const char *s);

struct summary_plugin {
    struct tag_text name, content;
};

/* A value of a record. */
struct summary_value {
    struct tag_text tag;
    bool has_simple, has_histogram, has_tensor;
    double simple;
    struct cur histogram, tensor;
    struct summary_plugin plugins[SUMMARY_PLUGINS];
    size_t n_plugins;
};

/* False: the message is damaged. */
bool summary_event_read(struct cur payload, struct summary_event *out);
bool summary_value_read(struct cur message, struct summary_value *out);
/* The first plugin of the name; NULL: none. */
const struct summary_plugin *summary_plugin_of(const struct summary_value *v, const char *name);

enum { SUMMARY_DIMS = 16 };

struct summary_tensor {
    struct health_tensor elements;
    bool is_text; /* has no numbers */
    bool is_float;
    size_t n_dims;
    int64_t dims[SUMMARY_DIMS];
};

/* Elements are in the message, or converted in `room`. False: damaged, or of a type that is not
 * read. */
bool summary_tensor_read(struct cur message, struct buf *room, struct summary_tensor *out);
/* Of a tensor with at least one element. */
double summary_tensor_first(const struct summary_tensor *t);
/* "shape=3,4" in `text`; "" when it has no dimension. */
void summary_shape(const struct summary_tensor *t, char *text, size_t size);

/* ---- records of an input ---- */

struct summary_in {
    const struct import_ask *ask;
    struct import_result *result;
    struct import_out out;
    struct tfrecord_in records;
    struct buf room; /* of summary_tensor_read */
    const char *process;
    uint32_t pid;
    mono_ns at;
    bool timed; /* `at` is known */
};

void summary_open(struct summary_in *s, const struct import_ask *ask, struct import_result *r,
                  const char *process);
/* Calls `take` for each record; what cannot be read is counted. */
MUST_CHECK int summary_records(struct summary_in *s,
                               void (*take)(void *ctx, const struct summary_event *v), void *ctx,
                               const char *what, struct err *e);
void summary_close(struct summary_in *s);

/* The moment of a record; false: it has none that is valid, which is counted. */
bool summary_time(struct summary_in *s, double wall_s, mono_ns *out);

/* Where a value belongs; `args` may be NULL. */
struct summary_where {
    mono_ns at;
    int64_t step;
    enum event_mode mode;
    struct tag_text name;
    const char *args;
};

void summary_put(struct summary_in *s, const struct summary_where *w, enum health_id stat,
                 double v);
void summary_put_count(struct summary_in *s, const struct summary_where *w, enum health_id stat,
                       int64_t v);

/* Statistics that a kind of tensor has; HEALTH_N: none. */
struct summary_kind {
    enum health_id l1, l2, min, max, mean, std, zeros, nonfinite, sum, exponents;
};

enum summary_subject {
    SUMMARY_GRADIENT,
    SUMMARY_WEIGHT,
    SUMMARY_OUTPUT,
    SUMMARY_INPUT,
    SUMMARY_ACTIVATION_INPUT,
    SUMMARY_OPTIMIZER,
    SUMMARY_SUBJECTS
};

extern const struct summary_kind summary_kinds[SUMMARY_SUBJECTS];

/* All statistics of a tensor; its dimensions are with the largest value. */
void summary_put_tensor(struct summary_in *s, const struct summary_where *w,
                        enum summary_subject subject, const struct summary_tensor *t);

#endif
