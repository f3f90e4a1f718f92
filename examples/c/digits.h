/* SPDX-License-Identifier: Apache-2.0 */
/* digits.h - the data: pictures of the digits 0 to 9, drawn on demand. No two are alike: each is
 * turned, scaled, bent and covered with noise. A (seed, number) pair always gives the same one. */
#ifndef DIGITS_H
#define DIGITS_H

#include <stddef.h>
#include <stdint.h>

enum {
    DIGIT_SIDE = 16,
    DIGIT_PIXELS = DIGIT_SIDE * DIGIT_SIDE,
    DIGIT_CLASSES = 10,
};

/* Draws sample `number` into pixel[DIGIT_PIXELS] and returns which digit it is. */
uint8_t digits_draw(uint64_t seed, uint64_t number, float *pixel);

/* Draws `count` samples, numbered from `first`. */
void digits_draw_many(uint64_t seed, uint64_t first, size_t count, float *pixels, uint8_t *labels);

#endif
