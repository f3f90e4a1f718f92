/* SPDX-License-Identifier: Apache-2.0 */
/* heavy.h - whose turn it is to do what takes much memory.
 *
 * To look at every event of a run takes some ten times the bytes of its files while it lasts. Such
 * work goes on side by side only as long as the runs are small together; a large one waits until it
 * is alone. So the most that is taken does not grow with how many are asked about. */
#ifndef SERVE_HEAVY_H
#define SERVE_HEAVY_H

#include <stdint.h>

struct heavy;

struct heavy *heavy_open(void);
void heavy_close(struct heavy *h); /* NULL is fine */

/* Waits for the turn of work on files of so many bytes; hands back what heavy_end wants to know. */
uint64_t heavy_begin(struct heavy *h, uint64_t bytes);
/* Gives the memory that was freed back to the kernel, too. */
void heavy_end(struct heavy *h, uint64_t bytes);

#endif
