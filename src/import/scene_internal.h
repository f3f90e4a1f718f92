/* SPDX-License-Identifier: Apache-2.0 */
/* scene_internal.h - the inside of the scene's parser, for scene*.c alone. */
#ifndef IMPORT_SCENE_INTERNAL_H
#define IMPORT_SCENE_INTERNAL_H

#include "import/scene.h"

enum { SCENE_WORDS_MOST = 512 };

/* The words of a line. ":" and ";" after a word are separate words, a comma is not a word. */
struct words {
    const char *v[SCENE_WORDS_MOST + 1]; /* "" after the last */
    size_t n, at;
};

struct parsing {
    struct scene *out;
    struct arena *arena;
    struct words words;
    const char *rest; /* of the line, after its first word; as it is there */
    size_t rest_len;
};

static inline const char *word_now(const struct parsing *p)
{
    return p->words.v[p->words.at];
}

static inline bool word_last(const struct parsing *p)
{
    return p->words.at >= p->words.n;
}

/* Takes the word when it is this one. */
bool word_take(struct parsing *p, const char *word);
/* Takes it whatever it is; "" at the end of the line. */
const char *word_next(struct parsing *p);
MUST_CHECK int word_want(struct parsing *p, const char *word, struct err *e);
MUST_CHECK int word_time(struct parsing *p, int64_t *ns, struct err *e);
MUST_CHECK int word_count(struct parsing *p, int64_t lo, int64_t hi, int64_t *out, struct err *e);
/* "10s..20s"; `open`: the second may be left out, which gives INT64_MAX. */
MUST_CHECK int word_range(struct parsing *p, bool open, int64_t *from, int64_t *to, struct err *e);
bool word_is_range(const char *word);
/* A number, with a unit of bytes after it where it has one: "40GiB". */
bool scene_number(const char *text, double *out);

MUST_CHECK int scene_node_find(const struct parsing *p, const char *id, size_t *out, struct err *e);

/* The lines that begin with "rank". */
MUST_CHECK int scene_rank_line(struct parsing *p, struct err *e);

/* The same as a number in -1..1. */
double scene_chance(uint64_t a, uint64_t b, uint64_t c);

#endif
