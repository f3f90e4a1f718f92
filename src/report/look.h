/* SPDX-License-Identifier: Apache-2.0 */
/* look.h - how phases of a job and parts of a step are called and coloured (colours.def). */
#ifndef REPORT_LOOK_H
#define REPORT_LOOK_H

enum colour {
#define COLOUR(name, light, dark) COLOUR_##name,
#define LOOK(key, title, colour)
#include "report/colours.def"
#undef COLOUR
#undef LOOK
    COLOUR_N
};

struct report_look {
    const char *key, *title;
    enum colour colour;
};

/* By its key or its title, in capitals or not. NULL: not known. */
const struct report_look *look_find(const char *name);
/* One that is not known is called `key`, in the colour of "other". */
struct report_look look_of(const char *key);

#endif
