/* SPDX-License-Identifier: Apache-2.0 */
/* tensorflow_names.c - what the events of TensorFlow's and JAX's traces are. They have no category:
 * their names and arguments tell. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "import/tensorflow.h"
#include "record/name_sense.h"

/* ---- arguments: lines of "key=value" ---- */

/* The value, up to its line's end; NULL: there is none. */
static const char *arg_of(const char *args, const char *key)
{
    const size_t n = strlen(key);
    for (const char *line = args; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && line[n] == '=')
            return line + n + 1;
    }
    return NULL;
}

static bool tensorflow_names_number_at(const char *text, int64_t *out)
{
    char *end;
    if (!text || !isdigit((unsigned char)*text) || strcspn(text, "\n") > 18)
        return false;
    *out = strtoll(text, &end, 10);
    return *end == '\0' || *end == '\n';
}

/* ---- steps ---- */

static const struct {
    const char *word;
    enum event_mode mode;
} modes[] = {
    {"train", MODE_TRAIN}, {"test", MODE_EVAL},       {"eval", MODE_EVAL},
    {"valid", MODE_EVAL},  {"predict", MODE_PREDICT},
};

/* MODE_N: the word is none of those. */
static enum event_mode mode_of(const char *word)
{
    for (size_t i = 0; word && i < COUNT_OF(modes); i++)
        if (text_starts(word, modes[i].word))
            return modes[i].mode;
    return MODE_N;
}

/* "train 12" */
static bool step_in_name(const char *name, int64_t *number)
{
    const char *space = strchr(name, ' ');
    return space && mode_of(name) != MODE_N && tensorflow_names_number_at(space + 1, number);
}

bool tf_step_of(const struct event *v, int64_t *number, enum event_mode *mode)
{
    const char *name = arg_of(v->args, "step_name");
    if (v->kind != EVENT_SPAN)
        return false;
    if (!tensorflow_names_number_at(arg_of(v->args, "step_num"), number) &&
        !tensorflow_names_number_at(name, number) &&
        !(name && tensorflow_names_number_at(arg_of(v->args, "group_id"), number)) &&
        !step_in_name(v->name, number))
        return false;
    *mode = mode_of(arg_of(v->args, "graph_type"));
    if (*mode == MODE_N)
        *mode = mode_of(v->name);
    if (*mode == MODE_N)
        *mode = MODE_TRAIN;
    return true;
}

/* ---- threads ---- */

/* By how the name begins, or how the operator's type does: names are "scope/name:Type". */
static const struct {
    const char *start;
    bool type;
    enum event_category category;
} hosts[] = {
    {"IteratorGetNext", false, CAT_LOADER}, /* the graph waits for its next batch */
    {"IteratorGetNext", true, CAT_LOADER},
    {"HorovodAll", true, CAT_COMM},
    {"HorovodBroadcast", true, CAT_COMM},
    {"HorovodReduce", true, CAT_COMM},
    {"NcclAll", true, CAT_COMM},
    {"NcclReduce", true, CAT_COMM},
    {"NcclBroadcast", true, CAT_COMM},
    {"CollectiveReduce", true, CAT_COMM},
    {"CollectiveGather", true, CAT_COMM},
    {"CollectiveBcast", true, CAT_COMM},
    {"CollectiveAllToAll", true, CAT_COMM},
    {"$", false, CAT_PYTHON},
};

/* cuLaunchKernel, cudaMemcpyAsync, hipModuleLaunchKernel */
static bool is_runtime_call(const char *name)
{
    static const char *const apis[] = {"cuda", "cu", "hip"};
    for (size_t i = 0; i < COUNT_OF(apis); i++) {
        const size_t n = strlen(apis[i]);
        if (strncmp(name, apis[i], n) == 0 && isupper((unsigned char)name[n]) &&
            islower((unsigned char)name[n + 1]))
            return true;
    }
    return false;
}

enum event_category tf_host_category(const char *name)
{
    const char *colon = strrchr(name, ':');
    const char *type = colon ? colon + 1 : name;
    for (size_t i = 0; i < COUNT_OF(hosts); i++)
        if (text_starts(hosts[i].type ? type : name, hosts[i].start))
            return hosts[i].category;
    return is_runtime_call(name) ? CAT_RUNTIME : CAT_OP;
}

/* ---- devices ---- */

uint64_t tf_link_of(const struct event *v)
{
    int64_t id;
    if (v->link)
        return v->link;
    return tensorflow_names_number_at(arg_of(v->args, "correlation_id"), &id) ? (uint64_t)id : 0;
}

/* "kind_src:pinned kind_dst:device size:4096 dest:0 async:1" */
static int64_t bytes_in(const char *details)
{
    const size_t len = strcspn(details, "\n");
    const char *at = memmem(details, len, "size:", 5);
    return at ? (int64_t)strtoull(at + 5, NULL, 10) : 0;
}

void tf_device_event(struct event *v)
{
    const unsigned sense = name_sense(v->name);
    const char *copy = arg_of(v->args, "memcpy_details");
    const char *fill = arg_of(v->args, "memset_details");
    if (v->kind != EVENT_SPAN)
        return;
    v->link = tf_link_of(v);
    v->category = sense & NAME_COMM_KERNEL      ? CAT_COMM
                  : copy || sense & NAME_MEMCPY ? CAT_MEMCPY
                  : fill || sense & NAME_MEMSET ? CAT_MEMSET
                                                : CAT_KERNEL;
    if (copy || fill)
        v->value = bytes_in(copy ? copy : fill);
}
