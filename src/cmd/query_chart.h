/* SPDX-License-Identifier: Apache-2.0 */
/* query_chart.h - series over time on a terminal: a line of blocks and a few numbers each. */
#ifndef CMD_QUERY_CHART_H
#define CMD_QUERY_CHART_H

#include "tables/query_match.h"

MUST_CHECK int query_chart(struct run *r, const struct series_ask *ask, const struct keys *all,
                           struct err *e);

#endif
