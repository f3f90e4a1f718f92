/* SPDX-License-Identifier: Apache-2.0 */
/* trust.h - whose files and folders this program trusts.
 *
 * The rule: what is found rather than named by the user is used only when it belongs to this user
 * or to root and no other user can change it. SECURITY.md describes the consequences. */
#ifndef BASE_TRUST_H
#define BASE_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"

/* This user or root. */
bool trust_owner(uid_t uid);
/* Whether users other than the owner may write it. The group of the owner's own id is the owner. */
bool trust_others_write(const struct stat *st);

/* The whole of a file that was found rather than named. It and its folder must belong to this user
 * or root, and others must not be able to write them; else ERR_USAGE with the reason ("it belongs
 * to ..."). Links are followed: only users that may write the folder can make them, and their
 * target is checked. The other outcomes are those of file_read. */
MUST_CHECK int trust_read(const char *path, size_t most, struct arena *a, char **out, size_t *len,
                          struct err *e);
/* As trust_read, whatever folder it is in: for a named file that grants rights. */
MUST_CHECK int trust_read_named(const char *path, size_t most, struct arena *a, char **out,
                                size_t *len, struct err *e);
/* An existing folder to write a run into: ERR_SYS with EPERM when it is a link, or others could
 * exchange what is written there. A user's files may have another number on some file systems (NFS,
 * FUSE); a folder with the number that new files get there is ours. */
MUST_CHECK int trust_folder(const char *path, struct err *e);

#endif
