/* SPDX-License-Identifier: Apache-2.0 */
/* screen.c - see screen.h. The escape sequences are those of ECMA-48 and the private modes that
 * every terminal of the last 30 years has, so no terminal database is needed. */
#include "cmd/screen.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/table.h"

enum { COLUMNS_UNKNOWN = 80, ROWS_UNKNOWN = 24 };

/* ?1049: alternate screen; ?25: cursor; ?7: a line that is too long is cut, not wrapped. */
static const char screen_enter[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char screen_leave[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

/* ---- a crash ---- */

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

/* A signal handler gets no argument. Only used while a screen is open. */
static struct {
    struct termios before;
    int in, out;
    bool has_keys;
    struct sigaction actions[COUNT_OF(crash_signals)];
} screen_crash;

/* All calls are async-signal-safe. The signal comes again, for the previous handler. */
static void screen_on_crash(int sig)
{
    (void)!write(screen_crash.out, screen_leave, sizeof screen_leave - 1);
    if (screen_crash.has_keys)
        (void)tcsetattr(screen_crash.in, TCSANOW, &screen_crash.before);
    for (size_t i = 0; i < COUNT_OF(crash_signals); i++)
        (void)sigaction(crash_signals[i], &screen_crash.actions[i], NULL);
    (void)raise(sig);
}

static void screen_catch_crash(const struct screen *s)
{
    struct sigaction on = {.sa_handler = screen_on_crash};
    sigemptyset(&on.sa_mask);
    screen_crash.before = s->before;
    screen_crash.in = s->in;
    screen_crash.out = s->out;
    screen_crash.has_keys = s->has_keys;
    for (size_t i = 0; i < COUNT_OF(crash_signals); i++)
        (void)sigaction(crash_signals[i], &on, &screen_crash.actions[i]);
}

static void screen_leave_crash(void)
{
    for (size_t i = 0; i < COUNT_OF(crash_signals); i++)
        (void)sigaction(crash_signals[i], &screen_crash.actions[i], NULL);
}

/* ---- opening ---- */

bool screen_can_open(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* Size of the terminal; 80 x 24 when that is not known. */
static void screen_size(size_t *columns, size_t *rows)
{
    struct winsize ws;
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0;
    *columns = known && ws.ws_col ? ws.ws_col : COLUMNS_UNKNOWN;
    *rows = known && ws.ws_row ? ws.ws_row : ROWS_UNKNOWN;
}

/* False: the terminal has closed. */
static bool screen_write(const struct screen *s, const void *p, size_t n)
{
    const char *at = p;
    while (n > 0) {
        const ssize_t done = write(s->out, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && errno == EAGAIN) { /* another program made it non-blocking */
            (void)poll(&(struct pollfd){s->out, POLLOUT, 0}, 1, -1);
            continue;
        }
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static void screen_forget(struct screen *s)
{
    for (size_t i = 0; s->lines && i < s->n_lines; i++)
        free(s->lines[i]);
    free(s->lines);
    s->lines = NULL;
    s->n_lines = 0;
}

/* Keys come one by one and unseen; Ctrl-C and Ctrl-Z stay signals. */
static void screen_begin(struct screen *s)
{
    struct termios raw = s->before;
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (s->has_keys)
        (void)tcsetattr(s->in, TCSAFLUSH, &raw);
    (void)screen_write(s, screen_enter, sizeof screen_enter - 1);
    screen_size(&s->columns, &s->rows);
    screen_forget(s);
}

static void screen_end(struct screen *s)
{
    (void)screen_write(s, screen_leave, sizeof screen_leave - 1);
    if (s->has_keys)
        (void)tcsetattr(s->in, TCSAFLUSH, &s->before);
}

int screen_open(struct screen *s, struct err *e)
{
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
    sigset_t set;
    *s = (struct screen){.in = STDIN_FILENO, .out = STDOUT_FILENO};
    sigemptyset(&set);
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        sigaddset(&set, wanted[i]);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0)
        return err_sys(e, "cannot wait for signals");
    pthread_sigmask(SIG_BLOCK, &set, &s->mask);
    s->has_keys = isatty(s->in) && tcgetattr(s->in, &s->before) == 0;
    screen_catch_crash(s);
    screen_begin(s);
    return 0;
}

void screen_close(struct screen *s)
{
    screen_end(s);
    screen_leave_crash();
    screen_forget(s);
    buf_free(&s->frame);
    close(s->signals);
    pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
}

/* ---- drawing ---- */

void screen_diff(struct buf *out, char *const *old, size_t n_old, const char *const *lines,
                 size_t n)
{
    if (!old)
        buf_printf(out, "\033[H\033[2J");
    for (size_t i = 0; i < n; i++)
        if (!old ? *lines[i] != '\0' : i >= n_old || strcmp(old[i], lines[i]) != 0)
            buf_printf(out, "\033[%zu;1H\033[K%s\033[0m", i + 1, lines[i]);
    if (old && n < n_old)
        buf_printf(out, "\033[%zu;1H\033[J", n + 1);
}

bool screen_draw(struct screen *s, const char *const *lines, size_t n)
{
    n = MIN_OF(n, s->rows);
    s->frame.len = 0;
    screen_diff(&s->frame, s->lines, s->n_lines, lines, n);
    screen_forget(s);
    s->lines = xcalloc(n + 1, sizeof *s->lines);
    s->n_lines = n;
    for (size_t i = 0; i < n; i++)
        s->lines[i] = xstrdup(lines[i]);
    return s->frame.len == 0 || screen_write(s, s->frame.p, s->frame.len);
}

/* ---- keys ---- */

/* What follows "ESC [" or "ESC O". */
static const struct {
    const char *bytes;
    int key;
} screen_sequences[] = {
    {"A", KEY_UP},         {"B", KEY_DOWN}, {"C", KEY_RIGHT}, {"D", KEY_LEFT},  {"5~", KEY_PAGE_UP},
    {"6~", KEY_PAGE_DOWN}, {"H", KEY_HOME}, {"F", KEY_END},   {"1~", KEY_HOME}, {"4~", KEY_END},
};

/* A sequence that is not known is skipped up to its last byte, which is a letter or '~'. */
static int screen_sequence_of(const char *p, size_t n, size_t *used)
{
    size_t len = 0;
    while (len < n && (unsigned char)p[len] < '@' && p[len] != '~')
        len++;
    len += len < n;
    *used = len;
    for (size_t i = 0; i < COUNT_OF(screen_sequences); i++)
        if (strlen(screen_sequences[i].bytes) == len &&
            memcmp(screen_sequences[i].bytes, p, len) == 0)
            return screen_sequences[i].key;
    return KEY_NONE;
}

int screen_key_of(const char *bytes, size_t n, size_t *used)
{
    *used = MIN_OF(n, (size_t)1);
    if (n == 0)
        return KEY_NONE;
    if (bytes[0] != '\033')
        return (unsigned char)bytes[0] < 0x80 ? bytes[0] : KEY_NONE;
    if (n < 2 || (bytes[1] != '[' && bytes[1] != 'O'))
        return '\033';
    const int key = screen_sequence_of(bytes + 2, n - 2, used);
    *used += 2;
    return key;
}

/* ---- waiting ---- */

/* The kernel stops the program when the signal is unblocked, or ignores it where no shell could
 * continue the program. */
static void screen_suspend(struct screen *s)
{
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    screen_end(s);
    (void)raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
    pthread_sigmask(SIG_BLOCK, &stop, NULL);
    screen_begin(s);
}

/* False: nothing that the caller has to know. */
static bool screen_take_signal(struct screen *s, struct screen_input *out)
{
    struct signalfd_siginfo x;
    if (read(s->signals, &x, sizeof x) != (ssize_t)sizeof x)
        return false;
    *out = (struct screen_input){.event = SCREEN_ENDED, .signal = (int)x.ssi_signo};
    if (x.ssi_signo == SIGTSTP)
        screen_suspend(s);
    if (x.ssi_signo == SIGWINCH) {
        screen_size(&s->columns, &s->rows);
        screen_forget(s);
    }
    if (x.ssi_signo == SIGTSTP || x.ssi_signo == SIGWINCH)
        out->event = SCREEN_RESIZED;
    return true;
}

static bool screen_take_key(struct screen *s, struct screen_input *out)
{
    size_t used;
    while (s->n_keys > 0) {
        *out = (struct screen_input){.event = SCREEN_KEY,
                                     .key = screen_key_of(s->keys, s->n_keys, &used)};
        s->n_keys -= used;
        memmove(s->keys, s->keys + used, s->n_keys);
        if (out->key != KEY_NONE)
            return true;
    }
    return false;
}

/* A terminal that has closed ends the program; other input that ends has no keys. */
static bool screen_read_keys(struct screen *s, struct screen_input *out)
{
    const ssize_t n = read(s->in, s->keys, sizeof s->keys);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (n <= 0) {
        *out = (struct screen_input){.event = SCREEN_ENDED};
        return true;
    }
    s->n_keys = (size_t)n;
    return screen_take_key(s, out);
}

static int screen_poll_ms(mono_ns until)
{
    const int64_t left = mono_diff(until, clock_mono());
    return left <= 0 ? 0 : (int)MIN_OF((left + NS_PER_MS - 1) / NS_PER_MS, (int64_t)60000);
}

struct screen_input screen_wait(struct screen *s, int wake, mono_ns until)
{
    struct screen_input out;
    while (!screen_take_key(s, &out)) {
        struct pollfd v[] = {
            {s->signals, POLLIN, 0}, {wake, POLLIN, 0}, {s->has_keys ? s->in : -1, POLLIN, 0}};
        const int n = poll(v, COUNT_OF(v), screen_poll_ms(until));
        if (n > 0 && v[0].revents && screen_take_signal(s, &out))
            break;
        if (n > 0 && v[2].revents && screen_read_keys(s, &out))
            break;
        if (n > 0 && v[1].revents)
            return (struct screen_input){.event = SCREEN_WOKEN};
        if (n <= 0 && clock_mono().ns >= until.ns)
            return (struct screen_input){.event = SCREEN_TIME};
    }
    return out;
}

/* ---- lines of a frame ---- */

enum { TEXT_MOST = 120 }; /* columns that sentences take */

static const char *const style_codes[STYLES] = {
    [STYLE_PLAIN] = "",           [STYLE_STRONG] = "\033[1m",      [STYLE_LABEL] = "\033[36m",
    [STYLE_WEAK] = "\033[2m",     [STYLE_BAR] = "\033[32m",        [STYLE_GOOD] = "\033[1;32m",
    [STYLE_WARNING] = "\033[33m", [STYLE_CRITICAL] = "\033[1;31m", [STYLE_KEY] = "\033[7m",
};

void top_text(struct top_lines *l, enum top_style style, const char *text)
{
    const char *safe = text_safe(l->arena, text);
    const size_t room = l->width - l->at, columns = text_columns(safe);
    const bool cut = columns > room, styled = l->color && *style_codes[style];
    if (room == 0 || columns == 0)
        return;
    if (styled)
        buf_printf(&l->line, "%s", style_codes[style]);
    buf_put(&l->line, safe, cut ? text_bytes(safe, room - 1) : strlen(safe));
    if (cut)
        buf_printf(&l->line, "…");
    if (styled)
        buf_printf(&l->line, "\033[0m");
    l->at += MIN_OF(columns, room);
}

void top_put(struct top_lines *l, enum top_style style, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    top_text(l, style, text);
}

void top_pad(struct top_lines *l, size_t column)
{
    column = MIN_OF(column, l->width);
    for (; l->at < column; l->at++)
        buf_u8(&l->line, ' ');
}

void top_right(struct top_lines *l, size_t width, const char *text)
{
    const size_t columns = text_columns(text);
    top_pad(l, l->at + (width > columns ? width - columns : 0));
    top_text(l, STYLE_PLAIN, text);
}

void top_end_line(struct top_lines *l)
{
    while (l->line.len > 0 && l->line.p[l->line.len - 1] == ' ')
        l->line.len--;
    *ARENA_ADD(l->arena, l->v, l->n, l->cap) =
        l->line.len ? arena_strndup(l->arena, (const char *)l->line.p, l->line.len) : "";
    l->line.len = l->at = 0;
}

void top_label(struct top_lines *l, const char *label)
{
    top_text(l, STYLE_LABEL, label);
    top_pad(l, TOP_LABEL);
}

void top_wrapped(struct top_lines *l, enum top_style style, const char *text)
{
    const size_t indent = l->at, width = MIN_OF(l->width, (size_t)TEXT_MOST);
    const char *safe = text_safe(l->arena, text);
    while (*safe) {
        const size_t word = strcspn(safe, " ");
        const char *copy = arena_strndup(l->arena, safe, word);
        if (l->at > indent && l->at + 1 + text_columns(copy) > width) {
            top_end_line(l);
            top_pad(l, indent);
        } else if (l->at > indent) {
            top_text(l, STYLE_PLAIN, " ");
        }
        top_text(l, style, copy);
        safe += word;
        safe += strspn(safe, " ");
    }
    top_end_line(l);
}

void top_bar(struct top_lines *l, size_t width, double share, const char *text)
{
    const size_t inner = MAX_OF(width, (size_t)3) - 2, words = MIN_OF(text_columns(text), inner);
    const double full = isnan(share) ? 0 : fmin(fmax(share, 0), 1) * (double)inner;
    const size_t filled = MIN_OF((size_t)lround(full), inner - words);
    char *bar = arena_alloc(l->arena, inner + 1, 1);
    memset(bar, '|', filled);
    top_text(l, STYLE_PLAIN, "[");
    top_text(l, STYLE_BAR, bar);
    top_pad(l, l->at + inner - words - filled);
    top_text(l, STYLE_PLAIN, text);
    top_text(l, STYLE_PLAIN, "]");
}
