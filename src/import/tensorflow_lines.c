/* SPDX-License-Identifier: Apache-2.0 */
/* tensorflow_lines.c - what a line of TensorFlow's trace is. Processes are planes ("/host:CPU",
 * "/device:GPU:0"), threads of a device's plane are streams or views of the same time. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/tensorflow.h"

/* Where a device is one whose streams are traced, streams are what ran; the other lines show the
 * same time again. Other devices have no streams: there the operators are what ran. */
static const struct {
    const char *name;
    enum tf_line gpu, other;
} lines[] = {
    {"Steps", TF_STEPS, TF_STEPS},
    {"XLA Ops", TF_SHADOW, TF_STREAM},
    {"Async XLA Ops", TF_SHADOW, TF_SHADOW},
    {"XLA Modules", TF_SHADOW, TF_SHADOW},
    {"XLA TraceMe", TF_SHADOW, TF_SHADOW},
    {"TensorFlow Name Scope", TF_SHADOW, TF_SHADOW},
    {"TensorFlow Ops", TF_SHADOW, TF_SHADOW},
    {"Framework Name Scope", TF_SHADOW, TF_SHADOW},
    {"Framework Ops", TF_SHADOW, TF_SHADOW},
    {"Source code", TF_SHADOW, TF_SHADOW},
    {"Launch Stats", TF_SHADOW, TF_SHADOW},
    {"Sparse Core Steps", TF_SHADOW, TF_SHADOW},
    {"Sparse Core Modules", TF_SHADOW, TF_SHADOW},
    {"Sparse Core Ops", TF_SHADOW, TF_STREAM},
};

/* "GPU:0" of "/device:GPU:0", also behind the name of a host; NULL: no device with a number. */
static const char *device_in(const char *process)
{
    const char *at = strstr(process, "/device:");
    const char *number = at ? strrchr(at, ':') : NULL;
    return number && isdigit((unsigned char)number[1]) ? at + strlen("/device:") : NULL;
}

enum tf_line tf_line_of(const struct track *t)
{
    const char *device = device_in(t->process);
    if (!device)
        return TF_HOST;
    const bool gpu = strncmp(device, "GPU:", 4) == 0;
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (strcmp(t->name, lines[i].name) == 0)
            return gpu ? lines[i].gpu : lines[i].other;
    return TF_STREAM;
}

/* "Stream #13(Compute)", "Stream 13"; else the id that the line has. */
static uint32_t stream_of(const struct track *t)
{
    const char *digits = t->name + strcspn(t->name, "0123456789");
    const bool named = strncasecmp(t->name, "stream", 6) == 0 && *digits;
    return named ? (uint32_t)strtoul(digits, NULL, 10) : (uint32_t)t->id;
}

static void place_device(struct track *t, enum tf_line line)
{
    enum { VIEW = 1 << 30 }; /* streams have low numbers */
    const char *device = device_in(t->process);
    const unsigned number = (unsigned)strtoul(strrchr(device, ':') + 1, NULL, 10);
    const bool gpu = strncmp(device, "GPU:", 4) == 0;
    const uint32_t low =
        line == TF_STREAM && gpu ? stream_of(t) : VIEW | ((uint32_t)t->id & (VIEW - 1));
    char name[TRACK_NAME_LEN];
    if (line == TF_STREAM && gpu)
        snprintf(name, sizeof name, "gpu%u stream %u", number, low);
    else
        snprintf(name, sizeof name, "%.3s%u %.40s", gpu ? "gpu" : device, number, t->name);
    for (char *p = name; *p && *p != ' '; p++)
        *p = (char)tolower((unsigned char)*p);
    memcpy(t->name, name, sizeof name);
    t->kind = TRACK_DEVICE;
    t->id = (uint64_t)number << 32 | low;
}

void tf_place(struct track *t, enum tf_line line, uint32_t pid)
{
    static const char host[] = "/host:CPU";
    if (line != TF_HOST)
        place_device(t, line);
    else if (strcmp(t->process, host) != 0) /* planes number their threads each for itself */
        t->id ^= (uint64_t)t->pid << 40;
    t->pid = pid;
    memset(t->process, 0, sizeof t->process);
    memcpy(t->process, host, sizeof host);
}
