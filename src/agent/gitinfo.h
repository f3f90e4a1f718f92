/* SPDX-License-Identifier: Apache-2.0 */
/* gitinfo.h - the commit a folder is at, read from its files; no process is started. */
#ifndef AGENT_GITINFO_H
#define AGENT_GITINFO_H

enum { GIT_COMMIT_LEN = 65 }; /* 64 hex digits of SHA-256 and a NUL */

/* Looks in `folder` and above it, also through the `gitdir:` file of worktrees and submodules.
 * Empty when it is in no repository or the repository has no commit. */
void git_commit_of(const char *folder, char out[GIT_COMMIT_LEN]);

#endif
