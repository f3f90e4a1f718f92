/* SPDX-License-Identifier: Apache-2.0 */
/* series_own.h - which series a question is about; for the files of query/ alone. */
#ifndef QUERY_SERIES_OWN_H
#define QUERY_SERIES_OWN_H

#include "query/run_open.h"
#include "query/series.h"

/* Copied into the arena. */
struct series_key series_key_of(const struct merged *m, struct arena *a);
/* Those that any of the questions asks for, as pointers; their number is the result. */
size_t series_select(const struct run *r, const struct series_ask *asks, size_t n_asks,
                     struct arena *a, const struct merged ***out);

#endif
