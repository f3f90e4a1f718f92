/* SPDX-License-Identifier: Apache-2.0 */
/* probeset.h - the probes of one lane with their schedule. All calls come from the lane's thread.
 */
#ifndef AGENT_PROBESET_H
#define AGENT_PROBESET_H

#include "agent/schedule.h"
#include "sample/probe.h"

struct probe_set {
    const struct probe_env *env;
    struct sink *sink;
    struct schedule schedule;
    const struct probe *probe[SCHEDULE_MOST]; /* by the schedule's index */
    void *state[SCHEDULE_MOST];               /* NULL: could not be opened again */
    int64_t late_ns;                          /* of the latest reading */
    mono_ns last_read;
    uint64_t missed; /* points skipped and not yet told */
    mono_ns told;    /* when that was last told */
};

/* Opens what there is of a lane; a probe that finds nothing becomes a loss. First due at `first`.
 */
void probe_set_open(struct probe_set *p, enum lane lane, const struct probe_env *env,
                    int64_t interval_ns, mono_ns first, struct sink *sink);
/* Reads everything that is due. Returns how many probes that were. */
unsigned probe_set_read(struct probe_set *p, mono_ns now);
/* Reads all of them, due or not, unless they were read less than half a period ago. */
void probe_set_read_last(struct probe_set *p, mono_ns now);
/* The last readings of probes that are read rarely, at the end of the run. */
void probe_set_end(struct probe_set *p);
void probe_set_interval(struct probe_set *p, mono_ns now, int64_t interval_ns);
/* After a pause: everything is opened anew, so that no rate spans the pause. */
void probe_set_resume(struct probe_set *p, mono_ns now);
/* Puts the points skipped so far into the record. */
void probe_set_tell_missed(struct probe_set *p, mono_ns now);
void probe_set_close(struct probe_set *p);

#endif
