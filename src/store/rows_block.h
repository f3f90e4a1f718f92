/* SPDX-License-Identifier: Apache-2.0 */
/* rows_block.h - the head of a block of rows; for reader.c. What others ask of it is in reader.h.
 */
#ifndef STORE_ROWS_BLOCK_H
#define STORE_ROWS_BLOCK_H

#include "store/reader.h"

/* False: damaged. The bytes behind `payload` must stay. */
bool rows_block_get(const struct block_header *h, const uint8_t *payload, struct arena *a,
                    struct rows_block *out);
/* Its columns are read again when somebody asks for them. */
void rows_block_forget(struct rows_block *b);
size_t rows_block_memory(const struct rows_block *b);

#endif
