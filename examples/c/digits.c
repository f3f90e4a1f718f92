/* SPDX-License-Identifier: Apache-2.0 */
/* digits.c - draws distorted digits. This is the costly part of the input pipeline, on purpose: it
 * stands for the decoding and augmentation that real loaders do. It keeps no state. */
#include "digits.h"

#include <math.h>

#include "rng.h"

enum {
    GLYPH_WIDTH = 5,
    GLYPH_HEIGHT = 7,
    SUBSAMPLES = 3, /* per pixel and direction */
};

static const char glyphs[DIGIT_CLASSES][GLYPH_HEIGHT][GLYPH_WIDTH + 1] = {
    {".###.", "#...#", "#..##", "#.#.#", "##..#", "#...#", ".###."},
    {"..#..", ".##..", "..#..", "..#..", "..#..", "..#..", ".###."},
    {".###.", "#...#", "....#", "..##.", ".#...", "#....", "#####"},
    {".###.", "#...#", "....#", "..##.", "....#", "#...#", ".###."},
    {"...#.", "..##.", ".#.#.", "#..#.", "#####", "...#.", "...#."},
    {"#####", "#....", "####.", "....#", "....#", "#...#", ".###."},
    {"..##.", ".#...", "#....", "####.", "#...#", "#...#", ".###."},
    {"#####", "....#", "...#.", "..#..", ".#...", ".#...", ".#..."},
    {".###.", "#...#", "#...#", ".###.", "#...#", "#...#", ".###."},
    {".###.", "#...#", "#...#", ".####", "....#", "...#.", ".##.."},
};

/* Where a point of the picture lies on the glyph: a matrix, a shift and a slow wave. */
struct warp {
    float xx, xy, yx, yy;
    float shift_x, shift_y;
    float wave_x, wave_y;   /* height, in glyph cells */
    float phase_x, phase_y; /* radians */
};

static struct warp random_warp(struct rng *r)
{
    const float angle = rng_range(r, -0.3f, 0.3f);
    const float cells_per_pixel = 0.62f / rng_range(r, 0.85f, 1.2f);
    const float shear = rng_range(r, -0.2f, 0.2f);
    const float c = cosf(angle) * cells_per_pixel, s = sinf(angle) * cells_per_pixel;
    return (struct warp){
        .xx = c + shear * s,
        .xy = s,
        .yx = shear * c - s,
        .yy = c,
        .shift_x = rng_range(r, -0.8f, 0.8f),
        .shift_y = rng_range(r, -0.8f, 0.8f),
        .wave_x = rng_range(r, 0.0f, 0.35f),
        .wave_y = rng_range(r, 0.0f, 0.35f),
        .phase_x = rng_range(r, 0.0f, 6.28f),
        .phase_y = rng_range(r, 0.0f, 6.28f),
    };
}

static float cell_ink(uint8_t digit, int x, int y)
{
    if (x < 0 || y < 0 || x >= GLYPH_WIDTH || y >= GLYPH_HEIGHT)
        return 0.0f;
    return glyphs[digit][y][x] == '#' ? 1.0f : 0.0f;
}

/* Ink at a point of the glyph, between the four cells around it. */
static float glyph_ink(uint8_t digit, float x, float y)
{
    const float left = floorf(x), top = floorf(y);
    const int ix = (int)left, iy = (int)top;
    const float fx = x - left, fy = y - top;
    const float upper = cell_ink(digit, ix, iy) * (1.0f - fx) + cell_ink(digit, ix + 1, iy) * fx;
    const float lower =
        cell_ink(digit, ix, iy + 1) * (1.0f - fx) + cell_ink(digit, ix + 1, iy + 1) * fx;
    return upper * (1.0f - fy) + lower * fy;
}

/* Ink at a point of the picture, whose middle is (0, 0). */
static float warped_ink(const struct warp *w, uint8_t digit, float px, float py)
{
    const float x = w->xx * px + w->xy * py + w->shift_x;
    const float y = w->yx * px + w->yy * py + w->shift_y;
    const float bent_x = x + w->wave_x * sinf(0.9f * y + w->phase_x);
    const float bent_y = y + w->wave_y * sinf(0.9f * x + w->phase_y);
    return glyph_ink(digit, bent_x + (GLYPH_WIDTH - 1) * 0.5f, bent_y + (GLYPH_HEIGHT - 1) * 0.5f);
}

static float pixel_ink(const struct warp *w, uint8_t digit, int column, int row)
{
    const float step = 1.0f / SUBSAMPLES, middle = DIGIT_SIDE * 0.5f;
    float sum = 0.0f;
    for (int sy = 0; sy < SUBSAMPLES; sy++) {
        for (int sx = 0; sx < SUBSAMPLES; sx++) {
            const float px = (float)column - middle + ((float)sx + 0.5f) * step;
            const float py = (float)row - middle + ((float)sy + 0.5f) * step;
            sum += warped_ink(w, digit, px, py);
        }
    }
    return sum * step * step;
}

uint8_t digits_draw(uint64_t seed, uint64_t number, float *pixel)
{
    struct rng r = rng_make(seed, number);
    const uint8_t digit = (uint8_t)(rng_next(&r) % DIGIT_CLASSES);
    const struct warp w = random_warp(&r);
    const float contrast = rng_range(&r, 0.7f, 1.3f);
    for (int row = 0; row < DIGIT_SIDE; row++)
        for (int column = 0; column < DIGIT_SIDE; column++)
            pixel[row * DIGIT_SIDE + column] =
                contrast * pixel_ink(&w, digit, column, row) + 0.2f * rng_normal(&r);
    return digit;
}

void digits_draw_many(uint64_t seed, uint64_t first, size_t count, float *pixels, uint8_t *labels)
{
    for (size_t i = 0; i < count; i++)
        labels[i] = digits_draw(seed, first + i, pixels + i * DIGIT_PIXELS);
}
