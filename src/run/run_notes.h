/* SPDX-License-Identifier: Apache-2.0 */
/* run_notes.h - what users wrote about a run (notes.json), and the removal of a run.
 *
 *     {"name": "baseline", "tags": ["paper"], "text": "lr 0.01\nbatch 64"}
 *
 * run.json is written once, so a run is renamed here. The file is put whole: of two writers the
 * last one stays, and no reader ever sees a mix of both. */
#ifndef RUN_RUN_NOTES_H
#define RUN_RUN_NOTES_H

#include <jansson.h>
#include <stddef.h>

#include "base/json_write.h"
#include "run/run_info.h"

/* In bytes. */
enum {
    NOTES_NAME_MOST = 200,
    NOTES_TAG_MOST = 64,
    NOTES_TAGS_MOST = 32,
    NOTES_TEXT_MOST = 8 << 10,
    NOTES_FILE_MOST = 64 << 10,
};

/* Checks the limits: names and tags are one line of UTF-8 without control characters, tags have no
 * comma and occur once. The message of ERR_USAGE names the problem. */
MUST_CHECK int run_notes_check(const struct run_notes *n, struct err *e);
/* From an object with exactly the keys above; checked. */
MUST_CHECK int run_notes_parse(struct run_notes *out, const json_t *tree, struct arena *a,
                               struct err *e);
/* Empty notes when there are none. ERR_FORMAT: the file is not valid. */
MUST_CHECK int run_notes_read(struct run_notes *out, const char *run, struct arena *a,
                              struct err *e);
/* As notes.json has them; the caller ends it with json_decref. NULL: there are none. */
json_t *run_notes_tree(const struct run_notes *n);
/* Its place among the tags; n_tags: the notes do not have it. */
size_t run_notes_find_tag(const struct run_notes *n, const char *tag);
/* Adds the tags and the text of `more`, the text after the name of its run, as far as they fit. */
void run_notes_join(struct run_notes *n, const struct run_notes *more, const char *run,
                    struct arena *a);
/* As notes.json has them. */
void run_notes_json(struct jw *j, const char *key, const struct run_notes *n);
/* Checks and replaces all of it. */
MUST_CHECK int run_notes_put(const char *run, const struct run_notes *n, struct err *e);

/* Removes a run with everything in it. ERR_BUSY: it is being recorded; ERR_USAGE: its folder is a
 * link. `info` was read just before. */
MUST_CHECK int run_remove(const struct run_info *info, struct err *e);

#endif
