/* SPDX-License-Identifier: Apache-2.0 */
/* importers.c - the list of formats. */
#include <string.h>

#include "import/importer.h"

#define IMPORTER(id) &importer_##id,
const struct importer *const importers[] = {
#include "import/importers.def"
    NULL,
};
#undef IMPORTER

#define COUNT(id, name, help) [IMPORTED_##id] = {name, help},
const struct word import_count_words[IMPORTED_N] = {
#include "import/import_counts.def"
};
#undef COUNT

const struct importer *importer_find(const char *name)
{
    for (const struct importer *const *p = importers; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}

const struct importer *importer_sniff(const char *head, size_t n)
{
    const struct importer *best = NULL;
    int sure = 0;
    for (const struct importer *const *p = importers; *p; p++) {
        const int now = (*p)->sniff(head, n);
        if (now > sure) {
            sure = now;
            best = *p;
        }
    }
    return best;
}
