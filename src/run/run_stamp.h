/* SPDX-License-Identifier: Apache-2.0 */
/* run_stamp.h - whether something changed in a run, from sizes and times alone. */
#ifndef RUN_RUN_STAMP_H
#define RUN_RUN_STAMP_H

#include <stdint.h>

struct run_stamp {
    uint64_t version;  /* another one when something changed; 0: there is no such run. At most 53
                          bits, for JSON */
    int64_t newest_ns; /* newest change, since the epoch */
    uint64_t bytes;    /* of all files */
};

/* Of the files that describe a run. */
uint64_t run_stamp_about(const char *run);
/* Of the files of its nodes: its data. */
struct run_stamp run_stamp_data(const char *run);
/* When the results of the rules were written, since the epoch in ns; 0: never. */
int64_t run_stamp_findings(const char *run);
/* When the run itself was changed; 0: there is none. */
int64_t run_stamp_folder(const char *run);

#endif
