/* SPDX-License-Identifier: Apache-2.0 */
/* rows_block.c - see rows_block.h.
 *
 * The directory of a block's columns takes several times the room of its bytes in the file: 25 MB
 * for a day of a wide node. So it can be given back, and is read again from the head. */
#include "store/rows_block.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool get_times_head(struct cur *head, struct cur *data, struct rows_block *b,
                           struct arena *a)
{
    b->times = blob_get(head, data);
    b->n_t_l2 = (uint32_t)cur_varint_most(head, ROWS_MOST);
    if (head->bad || b->n_t_l2 != bucket_count(b->rows, b->l2))
        return false;
    b->t_l2_us = arena_array(a, int64_t, b->n_t_l2);
    uint64_t t = (uint64_t)b->t_first_us;
    for (uint32_t i = 0; i < b->n_t_l2; i++) {
        t += (uint64_t)unzigzag(cur_varint(head));
        b->t_l2_us[i] = (int64_t)t;
    }
    return !head->bad;
}

#define PERIOD_MOST_NS (INT64_C(1) << 53)

static bool time_fits(int64_t us)
{
    return us >= -TIME_MOST_US && us <= TIME_MOST_US;
}

static bool rows_block_times_fit(const struct rows_block *b)
{
    bool good = time_fits(b->t_first_us) && time_fits(b->t_last_us);
    for (uint32_t i = 0; i < b->n_t_l2; i++)
        good = good && time_fits(b->t_l2_us[i]);
    return good && b->period_ns <= PERIOD_MOST_NS;
}

/* ---- columns ---- */

static bool column_fits(const struct column *c, const struct rows_block *b)
{
    return c->first_row <= b->rows && c->count <= b->rows - c->first_row && c->step > 0 &&
           c->step < 1e300 && c->min <= c->max;
}

static bool read_columns(const struct rows_block *b, struct column *out)
{
    struct cur head = b->list->head, data = b->list->data;
    for (uint32_t i = 0; i < b->n_columns && !head.bad; i++) {
        column_get(&head, &data, b->l1, b->l2, &out[i]);
        if (!head.bad && !column_fits(&out[i], b))
            head.bad = true;
    }
    return !head.bad;
}

/* They were right when the store was opened. If the file was changed since, they are empty. */
static void read_again(const struct rows_block *b, struct column *out)
{
    if (!read_columns(b, out))
        memset(out, 0, b->n_columns * sizeof *out);
}

static struct column *new_columns(const struct rows_block *b)
{
    return xmalloc((b->n_columns + 1) * sizeof(struct column));
}

/* Of two threads that read them at once, one keeps what it read. */
const struct column *block_columns_again(const struct rows_block *b)
{
    struct column *v = NULL, *mine = new_columns(b);
    read_again(b, mine);
    if (atomic_compare_exchange_strong(&b->list->kept, &v, mine))
        return mine;
    free(mine);
    return v;
}

const struct column *block_columns_once(const struct rows_block *b, struct column *room)
{
    const struct column *v = atomic_load_explicit(&b->list->kept, memory_order_acquire);
    if (v)
        return v;
    read_again(b, room);
    return room;
}

void rows_block_forget(struct rows_block *b)
{
    free(atomic_exchange(&b->list->kept, NULL));
}

size_t rows_block_memory(const struct rows_block *b)
{
    return atomic_load(&b->list->kept) ? (b->n_columns + 1) * sizeof(struct column) : 0;
}

/* ---- the head ---- */

static bool keep_columns(struct rows_block *b)
{
    struct column *v = new_columns(b);
    if (read_columns(b, v)) {
        atomic_init(&b->list->kept, v);
        return true;
    }
    free(v);
    return false;
}

bool rows_block_get(const struct block_header *h, const uint8_t *payload, struct arena *a,
                    struct rows_block *b)
{
    struct cur head = cur_of(payload, h->head_len);
    struct cur data = cur_of(payload + h->head_len, h->payload_len - h->head_len);
    *b = (struct rows_block){.t_first_us = h->t_first_us, .t_last_us = h->t_last_us};
    b->group.n = (uint32_t)cur_varint_most(&head, NAME_LEN - 1);
    b->group.p = (const char *)cur_take(&head, b->group.n);
    b->period_ns = (int64_t)cur_varint_most(&head, INT64_MAX);
    b->rows = (uint32_t)cur_varint_most(&head, ROWS_MOST);
    b->l1 = (uint32_t)cur_varint_most(&head, ROWS_MOST);
    b->l2 = (uint32_t)cur_varint_most(&head, ROWS_MOST);
    if (head.bad || !b->period_ns || !b->rows || b->l1 < 2 || b->l2 < b->l1 ||
        !get_times_head(&head, &data, b, a) || !rows_block_times_fit(b))
        return false;
    /* An entry takes at least 20 bytes, which bounds what a made-up number can allocate. */
    b->n_columns = (uint32_t)cur_varint_most(&head, cur_left(&head) / 20 + 1);
    b->list = arena_new(a, struct column_list);
    b->list->head = head;
    b->list->data = data;
    return !head.bad && keep_columns(b);
}
