/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - a file that lies in part files side by side (docs/format.md).
 *
 * While a recorder writes NAME.fp, a copy of its run on object storage has what is sealed so far in
 * immutable parts NAME.fp.OFFSET-LENGTH, of 12 and 8 hex digits. Together they are the file. When
 * NAME.fp itself is there, it counts, and parts are left-overs. Parts may overlap while small ones
 * are replaced by a large one: at each offset the longest counts. */
#ifndef RUN_PARTS_H
#define RUN_PARTS_H

#include "run/storage.h"

enum { PART_NAME_LEN = 200 };

struct part {
    uint64_t offset, bytes;
    bool damaged; /* its file has another length */
};

/* Whether it is the name of a part of `stem` ("metrics.fp"); NULL: of any file. */
bool part_name_parse(const char *name, const char *stem, struct part *out);
/* Its end, as ".000000000000-00016456", is appended to the name of the file. */
MUST_CHECK int part_path(char *out, const char *path, const struct part *p, struct err *e);

/* Sorts them and leaves those that follow each other from offset 0 on. Returns how many. */
size_t parts_choose(struct part *v, size_t n);

/* The operations on NAME.fp, by those on its parts: `raw` reads and lists. ERR_SYS with ENOENT when
 * there are none. */
MUST_CHECK int parts_stat(const struct storage *s, const char *path, struct storage_stat *out,
                          struct err *e);
MUST_CHECK int parts_read(const struct storage *s, const struct store_source *raw, const char *path,
                          int64_t from, size_t most, struct arena *a, char **out, size_t *len,
                          struct err *e);
MUST_CHECK int parts_map(const struct storage *s, const struct store_source *raw, const char *path,
                         struct fmap *out, struct err *e);
/* Whether an operation that failed with `e` is to be tried with parts. */
bool parts_may_be(const char *path, const struct err *e);

#endif
