/* SPDX-License-Identifier: Apache-2.0 */
/* row_declare.h - declares the tables of a file *_rows.def, for those that use several of them; see
 * row_table.h. Include it after `#define ROWS_FILE "tables/step_rows.def"`. It has no guard, as
 * row_expand.h. */
#include "base/row_table.h"

#define ROW(id, ...) extern const struct row_table row_##id;
#define FIELD(...)
#define KEY(...)
#define OBJECT(...)
#define OBJECT_OR_NULL(...)
#define LIST(...)
#define LIST_OF(...)
#define ARRAY(...)
#define MAP(...)
#define MAP_OR_NULL(...)
#define WHEN(...)
#define EMBED(...)
#define ROW_END(id)
#include ROWS_FILE
#undef ROW
#undef FIELD
#undef KEY
#undef OBJECT
#undef OBJECT_OR_NULL
#undef LIST
#undef LIST_OF
#undef ARRAY
#undef MAP
#undef MAP_OR_NULL
#undef WHEN
#undef EMBED
#undef ROW_END
#undef ROWS_FILE
