/* SPDX-License-Identifier: Apache-2.0 */
/* eventkit.h - events told to a writer and kept in a list, and a whole store's events as such a
 * list, so that the two can be compared field by field. */
#ifndef TESTS_EVENTKIT_H
#define TESTS_EVENTKIT_H

#include "record/event.h"
#include "store/block_events.h"
#include "store/storekit.h"

struct kit_event {
    struct track track;
    struct event event; /* args is never NULL here, but may be "" */
};

struct kit_events {
    struct arena arena;
    struct kit_event *v;
    size_t n, cap;
};

void kit_events_add(struct kit_events *l, const struct track *t, const struct event *v);
/* By pid, track, begin, the longer first, then all the rest. */
void kit_events_sort(struct kit_events *l);
bool kit_events_same(const struct kit_events *a, const struct kit_events *b);
/* Every event of `part` is in `all`, each once. Both sorted. */
bool kit_events_within(const struct kit_events *part, const struct kit_events *all);
void kit_events_free(struct kit_events *l);

/* Everything that can be shown, sorted; blocks that are damaged are left out. Each block's rows are
 * checked to be in order and within its times. */
struct kit_events kit_events_of(const struct store *s);
struct kit_events kit_events_path(const char *path);

/* A track of process 100 + its number. */
struct track kit_track(unsigned number);
/* Tells the sink one event. */
void kit_tell(struct sink *s, const struct track *t, const struct event *v);

/* A node folder with a writer of metrics and one of events beside it. */
struct kit_pair {
    struct writer *metrics, *events;
};

struct kit_pair kit_open_pair(const char *dir);
struct kit_pair kit_open_bulk(const char *dir);
void kit_close_pair(struct kit_pair *p);

#endif
