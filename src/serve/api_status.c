/* SPDX-License-Identifier: Apache-2.0 */
/* api_status.c - the server itself: how long it runs, what it follows, what it costs. */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/json_write.h"
#include "serve/api.h"
#include "serve/runs.h"

const struct route_param api_status_params[] = {{0}};

/* Resident bytes; negative: not known. */
static int64_t memory_bytes(void)
{
    long long pages = -1;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return -1;
    const int n = fscanf(f, "%*d %lld", &pages);
    fclose(f);
    return n == 1 ? (int64_t)pages * sysconf(_SC_PAGESIZE) : -1;
}

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int api_status(const struct route_ask *q, struct route_answer *out, struct err *e)
{
    (void)e;
    struct jw j = {.out = &out->body};
    struct runs_facts facts;
    const char *const *folders;
    const size_t n = runs_folders(q->runs, &folders);
    const int64_t memory = memory_bytes();
    runs_get_facts(q->runs, &facts);
    jw_object(&j, NULL);
    jw_str(&j, "version", FP_VERSION);
    jw_num(&j, "uptime_s", facts.uptime_s);
    jw_int(&j, "runs", (int64_t)facts.runs);
    jw_int(&j, "open_runs", (int64_t)facts.open);
    jw_int(&j, "open_runs_bytes", (int64_t)facts.open_bytes);
    jw_int(&j, "clients", (int64_t)facts.clients);
    jw_int(&j, "connections", (int64_t)facts.connections);
    jw_int(&j, "requests", (int64_t)facts.requests);
    jw_int(&j, "evaluations", (int64_t)facts.evaluations);
    if (memory < 0)
        jw_null(&j, "memory_bytes");
    else
        jw_int(&j, "memory_bytes", memory);
    jw_num(&j, "cpu_s", cpu_s());
    jw_object(&j, "rights");
    jw_bool(&j, "read", true);
    jw_bool(&j, "control", q->may_control);
    jw_end(&j);
    jw_array(&j, "folders");
    for (size_t i = 0; i < n; i++)
        jw_str(&j, NULL, folders[i]);
    jw_end(&j);
    jw_end(&j);
    return 0;
}
