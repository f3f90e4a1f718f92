/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - see progress.h. */
#include "base/progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"

enum { WIDTH_UNKNOWN = 80, BAR_MOST = 40 };

static const int64_t SILENT_NS = NS_PER_S;
static const int64_t REDRAW_NS = 100 * NS_PER_MS;

size_t term_width(FILE *f)
{
    if (!isatty(fileno(f)))
        return 0;
    struct winsize ws;
    if (ioctl(fileno(f), TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
        return ws.ws_col;
    return WIDTH_UNKNOWN;
}

bool term_color(FILE *f)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no && *no)
        return false;
    return isatty(fileno(f)) && !(term && strcmp(term, "dumb") == 0);
}

void progress_start(struct progress *p, FILE *to, size_t width, const char *what, mono_ns now)
{
    *p = (struct progress){.to = to, .what = what, .width = width, .start = now, .drawn = now};
}

static void progress_draw(struct progress *p, double share)
{
    const size_t words = strlen(p->what) + sizeof "  [] 100 %";
    const size_t room = p->width > words ? p->width - words : 0;
    const int bar = (int)MIN_OF(room, (size_t)BAR_MOST);
    const int full = (int)(share * bar);
    fprintf(p->to, "\r%s [", p->what);
    for (int i = 0; i < bar; i++)
        fputc(i < full ? '#' : ' ', p->to);
    fprintf(p->to, "] %3.0f %%", share * 100);
    fflush(p->to);
}

void progress_at(struct progress *p, double share, mono_ns now)
{
    if (p->width == 0 || mono_diff(now, p->start) < SILENT_NS)
        return;
    if (p->shown && mono_diff(now, p->drawn) < REDRAW_NS)
        return;
    share = share < 0 ? 0 : MIN_OF(share, 1.0);
    progress_draw(p, share);
    p->drawn = now;
    p->shown = true;
}

void progress_end(struct progress *p)
{
    if (!p->shown)
        return;
    fprintf(p->to, "\r%*s\r", (int)p->width - 1, "");
    fflush(p->to);
    p->shown = false;
}
