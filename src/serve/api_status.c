/* SPDX-License-Identifier: Apache-2.0 */
/* api_status.c - the server itself: how long it runs, what it follows, what it costs. */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "serve/api_rows.h"
#include "serve/route.h"

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

int api_status(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct jw j = {.out = &out->body};
    struct api_status status = {
        .memory_bytes = memory_bytes(), .cpu_s = cpu_s(), .may_control = q->may_control};
    (void)e;
    status.n_folders = runs_folders(q->runs, &status.folders);
    runs_get_facts(q->runs, &status.facts);
    row_json(&j, NULL, &row_Status, &status, NULL);
    return 0;
}
