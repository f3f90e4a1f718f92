/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h - for tests of the ring: keeps everything that readers deliver. */
#ifndef GATHER_H
#define GATHER_H

#include "ring/ring_folder.h"

struct gathered {
    uint32_t pid, tid;
    int64_t at_ns;
    enum ring_kind kind;
    uint8_t mode;
    uint64_t value;
    char name[64];
    char reason[64]; /* of RING_LOSS */
};

struct gather {
    struct gathered *v;
    size_t n, room;
    struct ring_losses lost;
    unsigned begun, ended, broken;
    struct err why; /* of the last broken file */
};

struct ring_folder_handler gather_handler(struct gather *g);
void gather_free(struct gather *g);
/* All events with that name, in v order; *n of them, to be freed. */
struct gathered *gather_named(const struct gather *g, const char *name, size_t *n);
size_t gather_count(const struct gather *g, const char *name);
/* Drains the folder until n events are there or ten seconds are over. */
void gather_wait(struct gather *g, struct ring_folder *f, size_t n);
/* Reads all there is in the folder at path, ends every process; the files stay away. */
void gather_all(struct gather *g, const char *path);
/* The name of the one ring file in the folder. */
void gather_only_file(const char *path, char *out, size_t size);
size_t gather_file_count(const char *path);

#endif
