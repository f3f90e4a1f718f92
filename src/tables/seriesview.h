/* SPDX-License-Identifier: Apache-2.0 */
/* seriesview.h - readings over time as `query` shows them. */
#ifndef TABLES_SERIESVIEW_H
#define TABLES_SERIESVIEW_H

#include "base/json_write.h"
#include "query/series.h"

/* One object. `full` is called when the buffer is large, and may empty it; NULL: never. */
void series_json(struct jw *j, const struct series *s, void (*full)(struct buf *b));

/* ---- which series a query matches, and the error when there are none ---- */

/* Every metric there is, for completion; ends with NULL. */
extern const char *const metric_names[];

/* All series of the run. */
struct keys {
    struct series_key *v;
    size_t n;
};

/* ERR_NOT_FOUND when nothing matches; the message names the wrong part and what is available, or
 * why it was not measured. */
MUST_CHECK int query_check(struct run *r, const struct series_ask *ask, const struct keys *all,
                           struct err *e);

#endif
