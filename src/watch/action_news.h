/* SPDX-License-Identifier: Apache-2.0 */
/* action_news.h - a change of a rule's answer, put into words once for all actions that tell of it.
 * Several may hold it; the last one to let go frees it. */
#ifndef WATCH_ACTION_NEWS_H
#define WATCH_ACTION_NEWS_H

#include <stdatomic.h>

#include "rules/params.h"
#include "watch/action.h"

struct news_text {
    struct action_news told;
    struct arena arena;
    atomic_uint holders;
};

struct news_from {
    const char *run, *run_id, *node;
};

struct news_text *news_make(const struct news_from *from, const struct verdict *v,
                            const struct param_value *p, bool clear);
struct news_text *news_share(struct news_text *n);
void news_free(struct news_text *n); /* NULL is fine */

#endif
