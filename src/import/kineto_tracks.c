/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_tracks.c - whose event it is: threads, streams of devices, and what they are called. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "import/kineto.h"
#include "json/json.h"

/* Ids of tracks that no number names: texts, and what belongs to a device as a whole. */
#define TEXT_TRACK ((uint64_t)1 << 63)
#define TEXT_PID   ((uint32_t)1 << 31)

uint32_t kineto_text_hash(const struct json_text *t)
{
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < t->len; i++)
        h = (h ^ (uint8_t)t->p[i]) * 16777619u;
    return h & ~TEXT_PID;
}

uint32_t kineto_pid(const struct kineto_who *w)
{
    return w->is_text ? TEXT_PID | kineto_text_hash(&w->text) : (uint32_t)w->number;
}

uint64_t kineto_tid(const struct kineto_who *w)
{
    return w->is_text ? TEXT_TRACK | kineto_text_hash(&w->text) : (uint64_t)w->number;
}

struct kineto_process *kineto_process_of(struct kineto *k, uint32_t pid, bool make)
{
    for (uint32_t i = 0; i < k->n_processes; i++)
        if (k->processes[i].pid == pid)
            return &k->processes[i];
    if (!make || k->n_processes == KINETO_PROCESSES_MOST)
        return NULL;
    k->processes[k->n_processes] = (struct kineto_process){.pid = pid};
    return &k->processes[k->n_processes++];
}

const char *kineto_process_name(struct kineto *k, uint32_t pid)
{
    const struct kineto_process *p = kineto_process_of(k, pid, false);
    return p ? p->name : "";
}

static void kineto_tracks_name_thread(struct kineto *k, uint32_t track)
{
    const struct kineto_event *v = &k->event;
    char name[TRACK_NAME_LEN] = "";
    if (v->tid.is_text && v->tid.text.len)
        json_decode(&v->tid.text, name, sizeof name, NULL);
    if (v->pid.is_text && v->pid.text.len) {
        struct kineto_process *p = kineto_process_of(k, kineto_pid(&v->pid), true);
        if (p && !*p->name)
            json_decode(&v->pid.text, p->name, sizeof p->name, NULL);
    }
    const bool named = track != OUT_NO_TRACK && *k->out.tracks[track].track.name;
    out_name(&k->out, track, kineto_process_name(k, kineto_pid(&v->pid)), named ? "" : name);
}

uint32_t kineto_thread_track(struct kineto *k)
{
    const struct kineto_event *v = &k->event;
    const bool plain = !v->pid.is_text && !v->tid.is_text;
    if (plain && k->near[NEAR_THREAD].good && k->near[NEAR_THREAD].pid == v->pid.number &&
        k->near[NEAR_THREAD].tid == v->tid.number)
        return k->near[NEAR_THREAD].track;
    const uint32_t track =
        out_track(&k->out, TRACK_THREAD, kineto_pid(&v->pid), kineto_tid(&v->tid));
    kineto_tracks_name_thread(k, track);
    if (plain) {
        k->near[NEAR_THREAD].pid = v->pid.number;
        k->near[NEAR_THREAD].tid = v->tid.number;
        k->near[NEAR_THREAD].track = track;
        k->near[NEAR_THREAD].good = true;
    }
    return track;
}

/* Streams belong to the process that was traced, whose pid their events do not have. */
static uint32_t owner_pid(const struct kineto *k, int64_t device)
{
    return k->ask->pid ? k->ask->pid : k->host_pid ? k->host_pid : (uint32_t)device;
}

uint32_t kineto_stream_track(struct kineto *k, int64_t device, uint32_t stream)
{
    char name[TRACK_NAME_LEN];
    const uint32_t pid = owner_pid(k, device);
    const uint64_t id = (uint64_t)device << 32 | stream;
    const uint32_t track = out_track(&k->out, TRACK_DEVICE, pid, id);
    if (track == OUT_NO_TRACK || *k->out.tracks[track].track.name)
        return track;
    if (stream == KINETO_NO_STREAM)
        snprintf(name, sizeof name, "gpu%lld", (long long)device);
    else
        snprintf(name, sizeof name, "gpu%lld stream %u", (long long)device, stream);
    out_name(&k->out, track, kineto_process_name(k, pid), name);
    return track;
}

uint32_t kineto_device_track(struct kineto *k)
{
    const struct kineto_event *v = &k->event;
    const int64_t device = v->device != INT64_MIN ? v->device : v->pid.number;
    const int64_t stream = v->stream != INT64_MIN ? v->stream : v->tid.number;
    if (k->near[NEAR_STREAM].good && k->near[NEAR_STREAM].pid == device &&
        k->near[NEAR_STREAM].tid == stream)
        return k->near[NEAR_STREAM].track;
    k->near[NEAR_STREAM].pid = device;
    k->near[NEAR_STREAM].tid = stream;
    k->near[NEAR_STREAM].track = kineto_stream_track(k, device, (uint32_t)stream);
    k->near[NEAR_STREAM].good = true;
    return k->near[NEAR_STREAM].track;
}
