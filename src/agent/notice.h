/* SPDX-License-Identifier: Apache-2.0 */
/* notice.h - notices from the cloud that it will take the machine away.
 *
 * A table defines for each provider how its machines are recognized (DMI), what to request from its
 * metadata service and what in the answer means an interruption. On any other machine nothing is
 * requested. */
#ifndef AGENT_NOTICE_H
#define AGENT_NOTICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/http.h"
#include "record/record.h"

struct notice {
    bool found;
    bool ends;           /* the machine goes away; otherwise it is only a warning */
    char text[TEXT_LEN]; /* "AWS spot: terminate at 2026-01-01T00:00:00Z" */
};

struct notice_question {
    const char *path;
    /* Pure: the body of an answer with status 200. */
    void (*judge)(const char *body, size_t len, struct notice *out);
};

enum { NOTICE_QUESTIONS = 2 };

struct notice_provider {
    const char *name;
    const char *dmi_file; /* under /sys/class/dmi/id */
    const char *dmi_text; /* what it begins with on this provider's machines */
    const char *address;
    const char *header;       /* sent with each request; each line ended by \r\n */
    const char *token_path;   /* requested first by PUT, when there is one */
    const char *token_header; /* sent with that */
    const char *token_name;   /* header that carries the token */
    struct notice_question question[NOTICE_QUESTIONS]; /* path NULL: none */
};

extern const struct notice_provider notice_providers[]; /* ends with a NULL name */

/* The provider of this machine by its DMI files below `sys`; NULL: none that is known. */
const struct notice_provider *notice_provider_here(const char *sys);

/* The thread that sends the requests. */
struct notice_watch {
    const struct notice_provider *provider;
    struct http_host host;
    struct sink *sink;
    void (*on_notice)(void *ctx, const struct notice *n); /* from the watch's thread */
    void *ctx;
    int period_ms;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool started, stop;
};

/* Starts nothing and returns false when the machine is no known cloud's. `address` overrides the
 * provider's (NULL: not), `period_ms` the time between requests (0: not). The watch must stay
 * where it is until notice_stop. */
bool notice_start(struct notice_watch *w, const char *sys, const char *address, int period_ms,
                  struct sink *sink, void (*on_notice)(void *ctx, const struct notice *n),
                  void *ctx);
void notice_stop(struct notice_watch *w); /* one that was not started is fine */

#endif
