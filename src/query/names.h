/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - names of files and entities in a run folder. */
#ifndef QUERY_NAMES_H
#define QUERY_NAMES_H

#include <stddef.h>

/* "metrics.fp", "metrics-2.fp": the file of a node's k-th recorder. */
void session_file(char *out, size_t size, const char *stem, unsigned session, const char *end);

/* As strcmp, but digits compare by their value: cpu2 before cpu10. */
int name_compare(const char *a, const char *b);

#endif
