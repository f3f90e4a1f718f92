/* SPDX-License-Identifier: Apache-2.0 */
/* importer.h - a format of other tools: one const record and one line in importers.def.
 *
 * An importer reads plain bytes from beginning to end, in memory that does not grow with them, and
 * passes events to a sink. What it cannot use it counts; only input that is not its format at all,
 * or that its source cannot deliver, is an error. */
#ifndef IMPORT_IMPORTER_H
#define IMPORT_IMPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes_in.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"
#include "record/event.h"
#include "record/remake.h"

#define COUNT(id, ...) IMPORTED_##id,
enum import_count {
#include "import/import_counts.def"
    IMPORTED_N
};
#undef COUNT

extern const struct word import_count_words[IMPORTED_N];

enum { IMPORT_NAME_LEN = 64 };

/* What is known from the name and the place of the input; zeroed: nothing. */
struct import_hint {
    const char *path;  /* for people; NULL: it has none */
    const char *below; /* its folder below the one that is imported; NULL or "": none */
    int64_t *reached;  /* the last training step of the files of its folder before; NULL: alone */
    bool has_base, has_rank;
    wall_ns base; /* what its times count from, where they are not of the clock */
    int64_t rank;
    char node[IMPORT_NAME_LEN];   /* machine; "": not given */
    char worker[IMPORT_NAME_LEN]; /* process on it; "": not given */
    const char *skipped;          /* why the file is not read, with PLACE_SKIPPED and PLACE_LOST */
};

/* What the name and the folder of a file show. */
enum import_place {
    PLACE_ANY,     /* its bytes decide */
    PLACE_TRACE,   /* it is a trace: when it cannot be read, that is reported */
    PLACE_SKIPPED, /* it is not read, and nothing is missing */
    PLACE_LOST,    /* it is not read, and its data is missing */
};

/* What the input has about a machine; zero: not given. */
struct import_machine {
    const char *node;
    unsigned cores, gpus;
    int64_t memory_bytes, interval_ns;
    mono_ns first, last; /* when it was watched */
    bool has_exit;       /* the job ended with this status */
    int exit_status;
};

struct import_ask {
    struct bytes_in *in; /* plain, not compressed */
    struct import_hint hint;
    struct sink *sink; /* takes rows of metrics as well as events */
    /* The sink of another machine that the input describes. NULL: all goes to `sink`. */
    struct sink *(*sink_of_node)(void *ctx, const char *node);
    /* NULL: progress is not reported. */
    void (*machine)(void *ctx, const struct import_machine *m);
    /* Times of the input are wall time; events carry the monotonic clock: what to take off. */
    int64_t wall_minus_mono_ns;
    uint32_t pid; /* of the process that was traced, where the caller knows it; else 0 */
    /* A number at the top level after everything else in the input, wanted before the reader gets
     * there. NULL, or false: it is not available. */
    bool (*late_number)(void *late_ctx, const char *key, int64_t *out);
    void *late_ctx;
    bool late_is_slow; /* because all of the input has to be read a second time */
    void *ctx;         /* of the functions but late_number */
    /* The run is to be made as the input describes: then nothing goes to the sinks above. NULL: the
     * input becomes a separate run. Only our own exports use it. */
    struct remake *remake;
};

struct import_result {
    uint64_t count[IMPORTED_N];
    struct json_faults faults;
    uint64_t bytes;           /* read */
    mono_ns first, last;      /* begin of the first event, end of the last; when there are any */
    int64_t rank, world_size; /* -1: not given */
    bool elsewhere;           /* nothing went to `sink`, all to sinks of nodes */
};

static inline bool import_gave_something(const struct import_result *r)
{
    return r->count[IMPORTED_KEPT] + r->count[IMPORTED_READINGS] > 0;
}

struct importer {
    const char *name; /* as --format takes it */
    const char *help; /* one line */
    /* How sure it is, 0 (not mine) to 100, from the first bytes. */
    int (*sniff)(const char *head, size_t n);
    /* Whether the file is one of this format by its name and folder. Fills the hint, which is
     * empty, and leaves it alone with PLACE_ANY. NULL: names show nothing. */
    enum import_place (*place)(const char *path, struct import_hint *h);
    /* Files of one folder are those of one training, which may have been started again. */
    bool restarts;
    int (*run)(const struct import_ask *ask, struct import_result *out, struct err *e);
};

#define IMPORTER(id) extern const struct importer importer_##id;
#include "import/importers.def"
#undef IMPORTER

/* In the order of importers.def; ends with NULL. */
extern const struct importer *const importers[];

/* NULL when there is no such format. */
const struct importer *importer_find(const char *name);
/* The one that is surest; NULL when none knows the bytes. */
const struct importer *importer_sniff(const char *head, size_t n);

/* ---- parts of names, for `place` ---- */

/* How many digits the text begins with. */
size_t import_digits_at(const char *p);
/* Stores the first n bytes, cut to what fits. */
void import_hint_text(char to[IMPORT_NAME_LEN], const char *p, size_t n);
/* The folder `up` levels above the file; "" when there is none. */
void import_folder_above(const char *path, unsigned up, char out[PATH_LEN]);
/* A time of so many digits, in microseconds. False: it is none. */
bool import_base_us(const char *p, size_t digits, wall_ns *out);
/* "host" of a worker called "27-host" or, with mark '_', "host_27". False: it is not such a name.
 */
bool import_hint_host(const char *worker, char mark, char host[IMPORT_NAME_LEN]);
/* "rank3", "rank_3", "rank-3" anywhere in the name. */
void import_hint_rank(const char *name, struct import_hint *h);

/* ---- events and times ---- */

/* The process that the tracks of the trace belong to: as the caller knows it, as the name of the
 * worker begins with it ("80807-host"), else one that is the rank's own. Never 0. */
uint32_t import_pid(const struct import_ask *ask);
/* A number that is known by an event of ours, such as the rank, at that moment. */
struct event import_fact(enum event_id id, int64_t value, mono_ns at);

/* What ran on a device, by its name. */
enum event_category import_device_category(const char *name);
/* All of a text as a number of at most 18 digits. */
bool import_digits(const char *p, size_t n, int64_t *out);

/* The monotonic time of `ts`, which counts from `base`; false: ts is NULL, or the sum overflows,
 * which is counted. */
static inline bool import_time(const struct import_ask *ask, struct import_result *r,
                               const int64_t *ts, int64_t base, mono_ns *out)
{
    int64_t wall;
    const bool fits = ts && !__builtin_add_overflow(*ts, base, &wall) &&
                      !__builtin_sub_overflow(wall, ask->wall_minus_mono_ns, &out->ns);
    if (__builtin_expect(!fits, 0))
        r->count[ts ? IMPORTED_BAD_TIME : IMPORTED_NO_TIME]++;
    return fits;
}

/* Widens first and last. Called before what lies there is counted. */
static inline void import_note_span(struct import_result *r, int64_t first, int64_t last)
{
    const bool any = import_gave_something(r);
    r->first.ns = any ? MIN_OF(r->first.ns, first) : first;
    r->last.ns = any ? MAX_OF(r->last.ns, last) : last;
}

void import_put_losses(const struct import_result *r, struct sink *s);

#endif
