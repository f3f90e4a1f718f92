/* SPDX-License-Identifier: Apache-2.0 */
/* import_file.c - see import_file.h. */
#include "import/import_file.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes_in.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "import/importer.h"
#include "record/record.h"

enum { TAIL = 64 << 10 }; /* where numbers are that come after everything else */

/* Compressed bytes below which a thread is not worth its start. */
enum { AHEAD_LEAST = 4 << 20 };

/* A file open for reading, decompressed where it has to be. First its head, then the rest. */
struct import_file_source {
    struct bytes_in in;
    const struct import_file_ask *ask; /* NULL: progress is not reported */
    struct bytes_file file;
    struct inflate *inflate;
    struct bytes_ahead *ahead; /* inflates, from after the head on */
    struct bytes_in *plain;
    uint64_t size;
    size_t head_len, head_at;
    char head[IMPORT_HEAD];
};

static bool has_two_cores(void)
{
    cpu_set_t may;
    return sched_getaffinity(0, sizeof may, &may) == 0 && CPU_COUNT(&may) > 1;
}

/* From here on the inflating is another thread's, where that pays. */
static void go_ahead(struct import_file_source *s)
{
    if (s->ahead || !s->inflate || !s->ask || !s->ask->threads || s->size < AHEAD_LEAST ||
        !has_two_cores())
        return;
    s->ahead = bytes_ahead_open(s->plain);
    if (s->ahead)
        s->plain = bytes_ahead_bytes(s->ahead);
}

/* All that there is room for, so that it does not depend on the sizes in which bytes come where
 * the import looks up and stores what it has. */
static int64_t import_file_read_source(struct bytes_in *in, void *to, size_t most, struct err *e)
{
    struct import_file_source *s = (struct import_file_source *)in;
    if (s->head_at < s->head_len) {
        const size_t n = MIN_OF(most, s->head_len - s->head_at);
        memcpy(to, s->head + s->head_at, n);
        s->head_at += n;
        return (int64_t)n;
    }
    go_ahead(s);
    const int rc =
        s->ask && s->ask->progress ? s->ask->progress(s->ask->ctx, s->file.taken, s->size, e) : 0;
    return rc != 0 ? rc : bytes_read_full(s->plain, to, most, e);
}

static int import_file_read_head(struct import_file_source *s, struct err *e)
{
    int64_t n = 1;
    while (s->head_len < IMPORT_HEAD && n > 0) {
        n = s->plain->read(s->plain, s->head + s->head_len, IMPORT_HEAD - s->head_len, e);
        if (n < 0)
            return (int)n;
        s->head_len += (size_t)n;
    }
    return 0;
}

static int open_plain(struct import_file_source *s, struct err *e)
{
    char magic[2];
    const ssize_t n = pread(s->file.fd, magic, sizeof magic, 0);
    s->plain = &s->file.in;
    if (n <= 0 || !inflate_sniff(magic, (size_t)n))
        return 0;
    TRY(inflate_open(&s->inflate, &s->file.in, INFLATE_ANY, e));
    s->plain = inflate_bytes(s->inflate);
    return 0;
}

/* No other thread reads from here on. */
static void end_ahead(struct import_file_source *s)
{
    bytes_ahead_close(s->ahead);
    s->ahead = NULL;
}

static void import_file_source_close(struct import_file_source *s)
{
    end_ahead(s);
    inflate_close(s->inflate);
    if (s->file.fd >= 0)
        close(s->file.fd);
    free(s);
}

static int import_file_source_open(struct import_file_source **out, const char *path, struct err *e)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(e, "open '%s'", path);
    struct import_file_source *s = xmalloc(sizeof *s);
    memset(s, 0, offsetof(struct import_file_source, head));
    s->in.read = import_file_read_source;
    bytes_file_init(&s->file, fd, path);
    int rc = fstat(fd, &st) < 0 ? err_sys(e, "stat '%s'", path) : 0;
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = err_set(e, ERR_USAGE, "'%s' is not a regular file", path);
    s->size = rc == 0 ? (uint64_t)st.st_size : 0;
    if (rc == 0)
        rc = open_plain(s, e);
    if (rc != 0) {
        import_file_source_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

/* ---- numbers at the end ---- */

/* The last TAIL bytes of what the source gives. Of a plain file only those are read; gzip has to be
 * inflated whole. */
static size_t import_file_read_tail(struct import_file_source *s, char tail[2 * TAIL])
{
    struct err e;
    size_t len = 0;
    int64_t n;
    if (!s->inflate && s->size > TAIL)
        lseek(s->file.fd, (off_t)(s->size - TAIL), SEEK_SET);
    while ((n = s->plain->read(s->plain, tail + len, 2 * TAIL - len, &e)) > 0) {
        len += (size_t)n;
        if (len == 2 * TAIL) {
            memcpy(tail, tail + TAIL, TAIL);
            len = TAIL;
        }
    }
    return len;
}

static bool number_after(const char *p, const char *end, int64_t *out)
{
    int64_t v = 0;
    while (p < end && (*p == ' ' || *p == ':' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    const char *const first = p;
    for (; p < end && *p >= '0' && *p <= '9' && p - first < 18 + 1; p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v))
            return false;
    *out = v;
    return p > first;
}

static bool late_number(void *ctx, const char *key, int64_t *out)
{
    const struct import_file_ask *ask = ctx;
    struct import_file_source *s;
    struct err e;
    char quoted[64];
    if (strlen(key) + 3 > sizeof quoted || import_file_source_open(&s, ask->path, &e) != 0)
        return false;
    const size_t n = (size_t)snprintf(quoted, sizeof quoted, "\"%s\"", key);
    char *tail = xmalloc(2 * (size_t)TAIL);
    const size_t len = import_file_read_tail(s, tail);
    const char *at = memmem(tail, len, quoted, n);
    const bool found = at && number_after(at + n, tail + len, out);
    free(tail);
    import_file_source_close(s);
    return found;
}

/* ---- the file ---- */

static int run_source(struct import_file_source *s, const struct import_file_ask *ask,
                      struct import_file_result *out, struct err *e)
{
    TRY(import_file_read_head(s, e));
    if (s->head_len == 0)
        return err_set(e, ERR_FORMAT, "the file is empty");
    out->format = ask->format ? ask->format : importer_sniff(s->head, s->head_len);
    if (!out->format)
        return err_set(e, ERR_FORMAT, "unknown format: the file is not JSON");
    struct import_ask inner = {
        .in = &s->in,
        .hint = ask->hint,
        .sink = ask->sink,
        .sink_of_node = ask->sink_of_node,
        .machine = ask->machine,
        .wall_minus_mono_ns = ask->wall_minus_mono_ns,
        .pid = ask->pid,
        .late_number = late_number,
        .late_is_slow = s->inflate != NULL,
        .remake = ask->remake,
        .late_ctx = (void *)(uintptr_t)ask, /* it is only read */
        .ctx = ask->ctx,
    };
    inner.hint.path = ask->path;
    return out->format->run(&inner, &out->result, e);
}

int import_file(const struct import_file_ask *ask, struct import_file_result *out, struct err *e)
{
    struct import_file_source *s;
    int rc = import_file_source_open(&s, ask->path, e);
    if (rc != 0)
        return rc;
    *out = (struct import_file_result){.gzip = s->inflate != NULL, .file_bytes = s->size};
    s->ask = ask;
    rc = run_source(s, ask, out, e);
    if (rc != 0)
        rc = err_in(e, "'%s'", ask->path);
    end_ahead(s);
    out->garbage = s->inflate && inflate_has_garbage(s->inflate);
    import_file_source_close(s);
    return rc;
}

size_t import_file_head(const char *path, char head[IMPORT_HEAD])
{
    struct import_file_source *s;
    struct err ignored;
    if (import_file_source_open(&s, path, &ignored) != 0)
        return 0;
    const int64_t n = bytes_read_full(s->plain, head, IMPORT_HEAD, &ignored);
    import_file_source_close(s);
    return n > 0 ? (size_t)n : 0;
}

const struct importer *import_file_format(const char *path)
{
    char *head = xmalloc(IMPORT_HEAD);
    const size_t n = import_file_head(path, head);
    const struct importer *found = n ? importer_sniff(head, n) : NULL;
    free(head);
    return found;
}

/* ---- all importers ---- */

/* The list of formats, and what several of them need. */

#define IMPORTER(id) &importer_##id,
const struct importer *const importers[] = {
#include "import/importers.def"
    NULL,
};
#undef IMPORTER

#define COUNT(id, lost, name, help) [IMPORTED_##id] = {name, help},
const struct word import_count_words[IMPORTED_N] = {
#include "import/import_counts.def"
};
#undef COUNT

const struct importer *importer_find(const char *name)
{
    for (const struct importer *const *p = importers; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}

const struct importer *importer_sniff(const char *head, size_t n)
{
    const struct importer *best = NULL;
    int sure = 0;
    for (const struct importer *const *p = importers; *p; p++) {
        const int now = (*p)->sniff(head, n);
        if (now > sure) {
            sure = now;
            best = *p;
        }
    }
    return best;
}

/* ------------------------------------------------------------------------------------------------
 * Which process a trace is of, where the trace itself does not name it */

/* "80807" of "80807-host"; 0: the name begins with no number. */
static uint32_t pid_in_name(const char *worker)
{
    uint32_t pid = 0;
    const char *p = worker;
    for (; *p >= '0' && *p <= '9' && p - worker < 9; p++)
        pid = pid * 10 + (uint32_t)(*p - '0');
    return *p == '-' || *p == '\0' ? pid : 0;
}

uint32_t import_pid(const struct import_ask *ask)
{
    const uint32_t named = pid_in_name(ask->hint.worker);
    if (ask->pid)
        return ask->pid;
    if (named)
        return named;
    return ask->hint.has_rank ? (uint32_t)(ask->hint.rank & INT32_MAX) + 1 : 1;
}

enum event_category import_device_category(const char *name)
{
    const unsigned sense = name_sense(name);
    return sense & NAME_COMM_KERNEL ? CAT_COMM
           : sense & NAME_MEMCPY    ? CAT_MEMCPY
           : sense & NAME_MEMSET    ? CAT_MEMSET
                                    : CAT_KERNEL;
}

bool import_digits(const char *p, size_t n, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || i == 18)
            return false;
        *out = *out * 10 + (p[i] - '0');
    }
    return n > 0;
}

struct event import_fact(enum event_id id, int64_t value, mono_ns at)
{
    return (struct event){
        .at = at,
        .kind = EVENT_COUNT,
        .value = value,
        .category = event_words[id].category,
        .name = event_words[id].name,
    };
}

/* ------------------------------------------------------------------------------------------------
 * What an import counted and could not use */

/* LOSS_N: none. */
#define COUNT(id, lost, name, help) [IMPORTED_##id] = LOSS_##lost,
static const enum loss_id lost_by[IMPORTED_N] = {
#include "import/import_counts.def"
};
#undef COUNT

static void import_put_loss(const struct import_result *r, struct sink *s, uint64_t count,
                            enum loss_id id, const struct word *of)
{
    char part[ENTITY_LEN];
    snprintf(part, sizeof part, "trace %s", of->name);
    struct loss l = loss_of(id, LOST_PART(part), "%s", of->help);
    l.count = count;
    l.at = r->first;
    if (count)
        s->ops->loss(s, &l);
}

void import_put_losses(const struct import_result *r, struct sink *s)
{
    for (enum import_count c = 0; c < IMPORTED_N; c++)
        if (lost_by[c] != LOSS_N)
            import_put_loss(r, s, r->count[c], lost_by[c], &import_count_words[c]);
    for (const struct json_fault_word *w = json_fault_words; w->name; w++) {
        uint64_t count;
        memcpy(&count, (const char *)&r->faults + w->at, sizeof count);
        import_put_loss(r, s, count, LOSS_MALFORMED, &(struct word){w->name, w->help});
    }
}
