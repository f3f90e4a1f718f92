/* SPDX-License-Identifier: Apache-2.0 */
/* seriesview.h - readings over time as `query` shows them. */
#ifndef TABLES_SERIESVIEW_H
#define TABLES_SERIESVIEW_H

#include "base/json_write.h"
#include "query/series.h"

/* One object. `full` is called when much stands in the buffer, and may empty it; NULL: nobody. */
void series_json(struct jw *j, const struct series *s, void (*full)(struct buf *b));

#endif
