/* SPDX-License-Identifier: Apache-2.0 */
/* run_notes.c - see run_notes.h. */
#include "run/run_notes.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/text.h"
#include "base/vec.h"
#include "run/run_catalog.h"
#include "run/run_files.h"
#include "run/run_names.h"
#include "run/storage.h"

/* ---- checks ---- */

/* `lines`: line ends and tabs are fine. */
static bool notes_is_text(const char *text, bool lines)
{
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        const size_t n = utf8_len(p);
        const bool control = *p < ' ' || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0);
        if (n == 0 || (control && !(lines && (*p == '\n' || *p == '\t'))))
            return false;
        p += n;
    }
    return true;
}

static int notes_check_line(const char *text, const char *what, size_t most, struct err *e)
{
    if (strlen(text) > most)
        return err_set(e, ERR_USAGE, "the %s is longer than %zu bytes", what, most);
    if (!notes_is_text(text, false))
        return err_set(e, ERR_USAGE, "the %s must be one line of UTF-8 text", what);
    if (*text == ' ' || (*text && text[strlen(text) - 1] == ' '))
        return err_set(e, ERR_USAGE, "the %s must not begin or end with a space", what);
    return 0;
}

static int notes_check_tag(const struct run_notes *n, size_t i, struct err *e)
{
    TRY(notes_check_line(n->tags[i], "tag", NOTES_TAG_MOST, e));
    if (!*n->tags[i] || strchr(n->tags[i], ','))
        return err_set(e, ERR_USAGE, "'%s' is not a valid tag (not empty, no comma)", n->tags[i]);
    for (size_t k = 0; k < i; k++)
        if (strcmp(n->tags[k], n->tags[i]) == 0)
            return err_set(e, ERR_USAGE, "the tag '%s' is given twice", n->tags[i]);
    return 0;
}

int run_notes_check(const struct run_notes *n, struct err *e)
{
    TRY(notes_check_line(n->name, "name", NOTES_NAME_MOST, e));
    if (n->n_tags > NOTES_TAGS_MOST)
        return err_set(e, ERR_USAGE, "a run has at most %d tags", NOTES_TAGS_MOST);
    for (size_t i = 0; i < n->n_tags; i++)
        TRY(notes_check_tag(n, i, e));
    if (strlen(n->text) > NOTES_TEXT_MOST)
        return err_set(e, ERR_USAGE, "the text is longer than %d bytes", NOTES_TEXT_MOST);
    if (!notes_is_text(n->text, true))
        return err_set(e, ERR_USAGE, "the text must be UTF-8 without control characters");
    return 0;
}

/* ---- reading ---- */

static int notes_parse_tags(struct run_notes *out, const json_t *list, struct arena *a,
                            struct err *e)
{
    const size_t n = json_array_size(list);
    if (n > NOTES_TAGS_MOST)
        return err_set(e, ERR_USAGE, "a run has at most %d tags", NOTES_TAGS_MOST);
    out->tags = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *tag = json_string_value(json_array_get(list, i));
        if (!tag)
            return err_set(e, ERR_USAGE, "a tag must be a text");
        out->tags[out->n_tags++] = arena_strdup(a, tag);
    }
    return 0;
}

int run_notes_parse(struct run_notes *out, const json_t *tree, struct arena *a, struct err *e)
{
    const json_t *name = json_object_get(tree, "name"), *tags = json_object_get(tree, "tags"),
                 *text = json_object_get(tree, "text");
    struct run_notes n = {.name = "", .text = ""};
    if (!json_is_string(name) || !json_is_array(tags) || !json_is_string(text) ||
        json_object_size(tree) != 3)
        return err_set(e, ERR_USAGE,
                       "notes must be {\"name\": \"...\", \"tags\": [...], \"text\": \"...\"}");
    n.name = arena_strdup(a, json_string_value(name));
    n.text = arena_strdup(a, json_string_value(text));
    TRY(notes_parse_tags(&n, tags, a, e));
    TRY(run_notes_check(&n, e));
    *out = n;
    return 0;
}

int run_notes_read(struct run_notes *out, const char *run, struct arena *a, struct err *e)
{
    char path[PATH_LEN];
    json_t *tree;
    *out = (struct run_notes){.name = "", .text = ""};
    TRY(run_path(path, run, RUN_NOTES, e));
    int rc = storage_read_json(&tree, path, e);
    if (rc)
        return err_no_file(rc, e) ? 0 : rc;
    rc = run_notes_parse(out, tree, a, e);
    json_decref(tree);
    return rc ? err_set(e, ERR_FORMAT, "'%s' is not valid", path) : 0;
}

/* ---- copies ---- */

static bool notes_are_empty(const struct run_notes *n)
{
    return !*n->name && !*n->text && n->n_tags == 0;
}

json_t *run_notes_tree(const struct run_notes *n)
{
    if (notes_are_empty(n))
        return NULL;
    json_t *tags = json_array();
    for (size_t i = 0; i < n->n_tags; i++)
        json_array_append_new(tags, json_string(n->tags[i]));
    return json_pack("{s:s, s:o, s:s}", "name", n->name, "tags", tags, "text", n->text);
}

size_t run_notes_find_tag(const struct run_notes *n, const char *tag)
{
    const size_t i = FIND_FIRST(k, n->n_tags, strcmp(n->tags[k], tag) == 0);
    return i;
}

void run_notes_join(struct run_notes *n, const struct run_notes *more, const char *run,
                    struct arena *a)
{
    const char **tags = arena_array(a, const char *, NOTES_TAGS_MOST);
    for (size_t i = 0; i < n->n_tags; i++)
        tags[i] = n->tags[i];
    n->tags = tags;
    for (size_t i = 0; i < more->n_tags && n->n_tags < NOTES_TAGS_MOST; i++)
        if (run_notes_find_tag(n, more->tags[i]) == n->n_tags)
            tags[n->n_tags++] = arena_strdup(a, more->tags[i]);
    const char *text =
        arena_printf(a, "%s%s%s: %s", n->text, *n->text ? "\n\n" : "", run, more->text);
    if (*more->text && strlen(text) <= NOTES_TEXT_MOST)
        n->text = text;
}

/* ---- writing ---- */

void run_notes_json(struct jw *j, const char *key, const struct run_notes *n)
{
    jw_object(j, key);
    jw_str(j, "name", n->name);
    jw_texts(j, "tags", n->tags, n->n_tags);
    jw_str(j, "text", n->text);
    jw_end(j);
}

int run_notes_put(const char *run, const struct run_notes *n, struct err *e)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    struct err ignored; /* the catalogue is only a copy */
    TRY(run_notes_check(n, e));
    run_notes_json(&j, NULL, n);
    buf_u8(&b, '\n');
    assert(b.len < NOTES_FILE_MOST);
    const int rc = run_put(run, RUN_NOTES, b.p, b.len, e);
    buf_free(&b);
    if (rc == 0)
        (void)!run_catalog_put(run, &ignored);
    return rc;
}

/* ---- removal ---- */

/* A run is what has a run.json. That goes first: a removal that is cut short leaves a folder which
 * no reader takes for a run. */
int run_remove(const struct run_info *info, struct err *e)
{
    char about[PATH_LEN];
    struct storage_stat st;
    const struct storage *s = storage_of(info->path);
    if (info->status == RUN_RUNNING)
        return err_set(e, ERR_BUSY, "run '%s' is being recorded; stop it first", info->name);
    TRY(s->stat(info->path, 0, &st, e));
    if (st.kind != STORAGE_FOLDER)
        return err_set(e, ERR_USAGE, "'%s' is a link; remove the link itself", info->path);
    TRY(run_path(about, info->path, RUN_ABOUT, e));
    if (!s->remove(about, STORAGE_REMOVE_FILE))
        return err_sys(e, "cannot remove '%s'", about);
    if (!s->remove(info->path, STORAGE_REMOVE_TREE))
        return err_sys(e, "cannot remove all of '%s'", info->path);
    return run_catalog_remove(info->path, e);
}
