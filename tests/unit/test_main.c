/* SPDX-License-Identifier: Apache-2.0 */
/* test_main.c - runs the tests of one program, each in its own process. */
#include <ftw.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static struct test_case *cases;
static char tmpdir[64];

void test_register(struct test_case *c)
{
    struct test_case **p = &cases;
    while (*p)
        p = &(*p)->next;
    *p = c;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static void clean_up(void)
{
    if (tmpdir[0])
        nftw(tmpdir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    clean_up();
    exit(TEST_FAILED);
}

void test_skip(const char *why)
{
    printf("SKIPPED: %s\n", why);
    clean_up();
    exit(TEST_SKIPPED);
}

char *test_printf(const char *fmt, ...)
{
    char *text;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        test_fail(__FILE__, __LINE__, "out of memory");
    va_end(ap);
    return text;
}

const char *test_tmpdir(void)
{
    if (!tmpdir[0]) {
        snprintf(tmpdir, sizeof tmpdir, "/tmp/fp-test-XXXXXX");
        if (!mkdtemp(tmpdir))
            test_fail(__FILE__, __LINE__, "mkdtemp %s", tmpdir);
    }
    return tmpdir;
}

static int run_case(const struct test_case *c)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return TEST_FAILED;
    if (pid == 0) {
        c->run();
        clean_up();
        exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: killed by signal %d\n", c->name, WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : TEST_FAILED;
}

int main(int argc, char **argv)
{
    const char *want = argc > 1 ? argv[1] : "";
    int failed = 0, skipped = 0, ran = 0;
    for (struct test_case *c = cases; c; c = c->next) {
        if (strcmp(want, "--list") == 0) {
            puts(c->name);
            continue;
        }
        if (!strstr(c->name, want))
            continue;
        int rc = run_case(c);
        printf("%-7s %s\n", rc == 0 ? "ok" : rc == TEST_SKIPPED ? "skipped" : "FAILED", c->name);
        ran++;
        failed += rc != 0 && rc != TEST_SKIPPED;
        skipped += rc == TEST_SKIPPED;
    }
    if (strcmp(want, "--list") == 0)
        return 0;
    printf("%d tests, %d failed, %d skipped\n", ran, failed, skipped);
    if (failed || ran == 0)
        return TEST_FAILED;
    return skipped == ran ? TEST_SKIPPED : 0;
}
