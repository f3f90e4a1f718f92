/* SPDX-License-Identifier: Apache-2.0 */
/* receive.c - see receive.h.
 *
 * Why a crash or a lost answer at any point does no harm:
 *
 *   - A part is written only where the file ends, so a file is always a prefix of the recorded one.
 *     A part that was cut by a crash, or whose answer was lost, makes the file longer; the next
 *     part then has another offset (ERR_BUSY), and the sender requests the size again.
 *   - A tail of a new segment empties the file before its first part is written. A file without a
 *     whole header counts as absent, and the sealed file has the data of the old segment: the
 *     sender sends that first (ship/ship.h).
 *   - A tail is removed only after the end of the sealed file was read back from the storage, and
 *     the file synced, so each reading is in one of the two at every moment, also after a loss of
 *     power.
 *   - run.json is put whole and only if it is absent: two jobs cannot share a folder.
 *
 * What a reader sees while a part is written: the bytes before the part, which do not change, and
 * of the part as much as was written so far. A block or frame that is not whole is not read
 * (store/reader.c). While a tail is emptied for the next segment it may be empty or without a whole
 * header, and then has no rows; those of the segment before are in the sealed file already.
 *
 * Calls for the same file come one after the other (receive.h), so what receive_look found is still
 * so when the part is written. The storage compares the size once more, so that a second writer
 * would get ERR_BUSY. That a file is complete is not taken from the sender: its end is read back
 * each time. */
#include "run/receive.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "run/run_files.h"
#include "run/run_names.h"
#include "run/storage.h"

/* ---- names ---- */

int receive_check_place(const struct receive_place *at, enum run_file_kind *kind, struct err *e)
{
    if (!name_is_sane(at->run, RUN_ID_LEN))
        return err_set(e, ERR_USAGE, "the name of the run is not allowed");
    if (at->node && !name_is_sane(at->node, NODE_ID_LEN))
        return err_set(e, ERR_USAGE, "the name of the node is not allowed");
    *kind = at->file ? run_file_kind(at->file, at->node != NULL) : RUN_FILE_OTHER;
    if (at->file && *kind == RUN_FILE_OTHER)
        return err_set(e, ERR_USAGE, "a run has no file of this name");
    return 0;
}

static int receive_run_path(const struct receive_place *at, char *out, struct err *e)
{
    return run_path(out, at->runs, at->run, e);
}

static int receive_folder(const struct receive_place *at, char *out, struct err *e)
{
    char run[PATH_LEN];
    TRY(receive_run_path(at, run, e));
    return at->node ? run_node_path(out, run, at->node, e) : path_join(out, e, "%s", run);
}

int receive_path(const struct receive_place *at, char *out, struct err *e)
{
    char folder[PATH_LEN];
    TRY(receive_folder(at, folder, e));
    return run_path(out, folder, at->file, e);
}

/* ---- the owner of a run ---- */

bool receive_owner(const char *run, char owner[RECEIVE_OWNER_LEN])
{
    char path[PATH_LEN];
    struct arena a = {0};
    struct err e;
    json_t *o = NULL;
    const bool found =
        run_path(path, run, RUN_RECEIVED, &e) == 0 && storage_read_json(&o, path, &e) == 0;
    snprintf(owner, RECEIVE_OWNER_LEN, "%s", found ? json_get_str(o, "by", &a, "") : "");
    json_decref(o);
    arena_free(&a);
    return found;
}

/* The first one to write its name has the run; a crash leaves a folder that is no run yet. */
static int receive_make(const char *run, const char *runs, const char *owner, struct err *e)
{
    char path[PATH_LEN];
    struct buf b = {0};
    struct jw j = {.out = &b};
    bool made;
    TRY(storage_of(runs)->make_runs(runs, &made, e));
    TRY(storage_of(run)->claim(run, &made, e));
    TRY(run_path(path, run, RUN_RECEIVED, e));
    jw_object(&j, NULL);
    jw_str(&j, "by", owner);
    jw_end(&j);
    const int rc = storage_of(path)->put(path, b.p, b.len, STORAGE_PUT_ABSENT, e);
    buf_free(&b);
    storage_tidy(path);
    return rc == ERR_BUSY ? 0 : rc;
}

int receive_own(const struct receive_place *at, const char *owner, bool make, struct err *e)
{
    char run[PATH_LEN], about[PATH_LEN], by[RECEIVE_OWNER_LEN];
    TRY(receive_run_path(at, run, e));
    TRY(run_path(about, run, RUN_ABOUT, e));
    const bool is_run = storage_has(about);
    if (!is_run && !make)
        return err_set(e, ERR_NOT_FOUND, "no run called '%s'", at->run);
    if (!is_run)
        TRY(receive_make(run, at->runs, owner, e));
    if (!receive_owner(run, by) || strcmp(by, owner) != 0)
        return err_set(e, ERR_USAGE, "the run '%s' was not made with this token", at->run);
    return 0;
}

void receive_count(const char *run, char owner[RECEIVE_OWNER_LEN], uint64_t *bytes)
{
    *bytes = receive_owner(run, owner) ? run_stamp_data(run).bytes : 0;
}

/* ---- state ---- */

/* A file without a whole header is as good as none: it begins again. */
static int receive_read_header(const char *path, struct receive_file *out, struct err *e)
{
    uint8_t head[FILE_HEADER_LEN];
    struct file_header h;
    size_t n;
    TRY(storage_of(path)->range(path, 0, head, sizeof head, &n, e));
    TRY(file_header_get(&h, head, n, path, e));
    memcpy(out->id, h.id, sizeof out->id);
    out->segment = h.segment;
    return 0;
}

static bool receive_is_complete(const char *path, uint64_t size)
{
    uint8_t end[FILE_END_LEN];
    struct err e;
    size_t n;
    return size > FILE_HEADER_LEN + FILE_END_LEN &&
           storage_of(path)->range(path, size - FILE_END_LEN, end, sizeof end, &n, &e) == 0 &&
           n == sizeof end && format_is_closed(end, size);
}

static int receive_look_at(const char *path, struct receive_file *out, struct err *e)
{
    struct storage_stat st;
    const int rc = storage_of(path)->stat(path, 0, &st, e);
    out->size = 0;
    if (rc)
        return err_no_file(rc, e) ? 0 : rc;
    if (st.kind != STORAGE_FILE)
        return err_set(e, ERR_FORMAT, "'%s' is not a regular file", path);
    if (st.bytes < FILE_HEADER_LEN)
        return 0;
    TRY(receive_read_header(path, out, e));
    out->size = st.bytes;
    out->complete = out->kind == RUN_FILE_SEALED && receive_is_complete(path, st.bytes);
    return 0;
}

int receive_look(const struct receive_place *at, struct receive_file *out, struct err *e)
{
    char path[PATH_LEN];
    *out = (struct receive_file){.name = at->file, .kind = run_file_kind(at->file, true)};
    TRY(receive_path(at, path, e));
    return receive_look_at(path, out, e);
}

struct receive_list {
    const char *folder;
    receive_visit *visit;
    void *ctx;
};

static void receive_visit_entry(void *ctx, const struct storage_entry *x)
{
    const struct receive_list *l = ctx;
    struct receive_file f = {.name = x->name, .kind = run_file_kind(x->name, true)};
    char path[PATH_LEN];
    struct err e;
    if ((f.kind == RUN_FILE_SEALED || f.kind == RUN_FILE_TAIL) &&
        run_path(path, l->folder, x->name, &e) == 0 && receive_look_at(path, &f, &e) == 0)
        l->visit(l->ctx, &f);
}

int receive_state(const struct receive_place *at, receive_visit *visit, void *ctx, struct err *e)
{
    char folder[PATH_LEN];
    struct receive_list l = {folder, visit, ctx};
    TRY(receive_folder(at, folder, e));
    const int rc = storage_of(folder)->list(folder, 0, receive_visit_entry, &l, e);
    if (err_no_file(rc, e))
        return err_set(e, ERR_NOT_FOUND, "no node called '%s' in the run '%s'", at->node, at->run);
    return rc;
}

/* ---- parts ---- */

/* The first part has the header, which must be that of the file that is announced. */
static int receive_check_first(const struct receive_part *part, enum run_file_kind kind,
                               struct err *e)
{
    struct file_header h;
    if (part->n < FILE_HEADER_LEN)
        return err_set(e, ERR_FORMAT, "the first part must have the whole header of the file");
    TRY(file_header_get(&h, part->p, part->n, "the part", e));
    if (h.kind != (kind == RUN_FILE_TAIL ? FILE_TAIL : FILE_SEALED) || h.segment != part->segment ||
        memcmp(h.id, part->id, sizeof h.id) != 0)
        return err_set(e, ERR_FORMAT, "the header of the file is not the one that was announced");
    return 0;
}

/* Whether the part belongs to the file as it is. *again: the file begins again with it. */
static int receive_check_part(const struct receive_part *part, const struct receive_file *is,
                              bool *again, struct err *e)
{
    const bool later = is->kind == RUN_FILE_TAIL && is->size && part->segment > is->segment;
    if (is->size && memcmp(is->id, part->id, sizeof is->id) != 0)
        return err_set(e, ERR_USAGE, "'%s' is the file of another recorder", is->name);
    if (is->kind == RUN_FILE_TAIL && is->size && part->segment < is->segment)
        return err_set(e, ERR_USAGE, "'%s' is of a later segment already", is->name);
    *again = later || is->size == 0;
    if (part->offset != (*again ? 0 : is->size))
        return err_set(e, ERR_BUSY, "the part does not begin where the file ends");
    assert(!*again || is->size == 0 || is->kind == RUN_FILE_TAIL); /* sealed bytes stay */
    return *again ? receive_check_first(part, is->kind, e) : 0;
}

/* Where the sealed file is complete the tail has nothing that it has not. A crash before this is
 * harmless: readers ignore the tail of a segment that the file has. */
static void receive_remove_tail(const struct receive_place *at)
{
    char name[128], path[PATH_LEN];
    struct err e;
    const size_t stem = strlen(at->file) - strlen(STORE_SEALED);
    snprintf(name, sizeof name, "%.*s" STORE_TAIL, (int)stem, at->file);
    const struct receive_place tail = {at->runs, at->run, at->node, name};
    if (receive_path(&tail, path, &e) == 0)
        storage_of(path)->remove(path, STORAGE_REMOVE_FILE);
}

static int receive_write_part(const char *path, const struct receive_part *part, bool again,
                              struct receive_file *out, struct err *e)
{
    const struct storage *s = storage_of(path);
    uint64_t size = 0;
    if (!s->append)
        return err_set(e, ERR_USAGE, "'%s': this storage cannot receive runs", path);
    const int rc = s->append(path, part->offset, again, part->p, part->n, &size, e);
    if (rc == 0) {
        assert(size == part->offset + part->n);
        out->size = size;
        out->segment = part->segment;
        memcpy(out->id, part->id, sizeof out->id);
    }
    return rc;
}

int receive_append(const struct receive_place *at, const struct receive_part *part,
                   struct receive_file *out, struct err *e)
{
    char folder[PATH_LEN], path[PATH_LEN];
    bool made, again = false;
    assert(at->node);
    TRY(receive_folder(at, folder, e));
    TRY(receive_look(at, out, e));
    TRY(receive_check_part(part, out, &again, e)); /* before the folder is made */
    TRY(storage_of(folder)->claim(folder, &made, e));
    TRY(receive_path(at, path, e));
    if (out->complete && part->n)
        return err_set(e, ERR_USAGE, "'%s' is complete", at->file);
    if (part->n || again || !part->complete) /* no bytes: a sign of life */
        TRY(receive_write_part(path, part, again, out, e));
    out->complete = out->kind == RUN_FILE_SEALED && receive_is_complete(path, out->size);
    assert(out->size == part->offset + part->n);
    if (!part->complete || !out->complete)
        return 0;
    TRY(storage_of(folder)->sync(folder, e)); /* with the answer the sender may remove its file */
    receive_remove_tail(at);
    return 0;
}

int receive_remove(const struct receive_place *at, const uint8_t id[FILE_ID_LEN], struct err *e)
{
    struct receive_file f;
    char path[PATH_LEN];
    TRY(receive_look(at, &f, e));
    if (f.size > FILE_HEADER_LEN || (f.size && memcmp(f.id, id, sizeof f.id) != 0))
        return err_set(e, ERR_USAGE, "'%s' has data: it stays", at->file);
    TRY(receive_path(at, path, e));
    receive_remove_tail(at);
    storage_of(path)->remove(path, STORAGE_REMOVE_FILE);
    return 0;
}

/* ---- whole files. There is one writer of a file at a time ---- */

static int receive_check_json(const struct receive_place *at, const void *p, size_t n,
                              struct err *e)
{
    struct arena a = {0};
    json_error_t why;
    json_t *o = json_loadb(p, n, JSON_REJECT_DUPLICATES, &why);
    const bool about = strcmp(at->file, RUN_ABOUT) == 0;
    int rc = 0;
    if (!o)
        rc = err_set(e, ERR_FORMAT, "'%s', line %d: %s", at->file, why.line, why.text);
    else if (about && strcmp(json_get_str(o, "format", &a, ""), "footplate-run") != 0)
        rc = err_set(e, ERR_FORMAT, "'%s' does not describe a run", at->file);
    json_decref(o);
    arena_free(&a);
    return rc;
}

/* That of the same job is no conflict: it comes from another node, or again because the answer to
 * the first was lost. */
static int receive_same(const char *path, const void *p, size_t n, struct err *e)
{
    struct arena a = {0};
    char *is;
    size_t len;
    struct err ignored;
    const bool same =
        storage_of(path)->source->read(path, 0, RECEIVE_SMALL_MOST, &a, &is, &len, &ignored) == 0 &&
        run_is_same(is, len, p, n);
    arena_free(&a);
    return same ? 0 : err_set(e, ERR_BUSY, "the name is that of another run");
}

int receive_check(const struct receive_place *at, const void *p, size_t n, struct err *e)
{
    if (run_file_kind(at->file, at->node != NULL) == RUN_FILE_SAVED)
        return run_saved_check(at->file, p, n, e);
    return strcmp(at->file, RUN_REPORT) == 0 ? 0 : receive_check_json(at, p, n, e);
}

int receive_put(const struct receive_place *at, const void *p, size_t n, struct err *e)
{
    char folder[PATH_LEN], path[PATH_LEN];
    bool made;
    const enum run_file_kind kind = run_file_kind(at->file, at->node != NULL);
    TRY(receive_check(at, p, n, e));
    TRY(receive_folder(at, folder, e));
    if (at->node)
        TRY(storage_of(folder)->claim(folder, &made, e));
    TRY(run_path(path, folder, at->file, e));
    const bool once = kind == RUN_FILE_ABOUT;
    const int rc =
        storage_of(path)->put(path, p, n, once ? STORAGE_PUT_ABSENT : STORAGE_PUT_REPLACE, e);
    if (strcmp(at->file, RUN_NOTES) != 0) /* of which the dashboard may be a writer, too */
        storage_tidy(path);
    return once && rc == ERR_BUSY ? receive_same(path, p, n, e) : rc;
}
