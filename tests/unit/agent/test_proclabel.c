/* SPDX-License-Identifier: Apache-2.0 */
/* test_proclabel.c - a process in few words. */
#include <unistd.h>

#include "agent/jobinfo.h"
#include "test.h"

struct label_row {
    const char *args;
    size_t len;
    const char *label;
};

TEST(a_command_line_becomes_its_program_and_script)
{
    static const char one[] = "/usr/bin/python3\0-u\0/home/u/train.py\0--lr\0x";
    static const char module[] = "python\0-m\0pkg.train";
    static const char text[] = "python\0-c\0print(1)";
    static const char other[] = "/opt/train\0--x";
    static const char bare[] = "python3";
    const struct label_row rows[] = {
        {one, sizeof one, "python3 train.py"}, {module, sizeof module, "python -m pkg.train"},
        {text, sizeof text, "python -c"},      {other, sizeof other, "train"},
        {bare, sizeof bare, "python3"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[64];
        command_label(out, sizeof out, rows[i].args, rows[i].len);
        CHECK_STR(out, rows[i].label);
    }
}

TEST(a_process_that_cannot_be_asked_has_its_number)
{
    char out[64];
    process_label(out, sizeof out, NULL, 77);
    CHECK_STR(out, "process 77");
    process_label(out, sizeof out, "/nonexistent", 77);
    CHECK_STR(out, "process 77");
}

TEST(this_test_is_called_by_its_own_name)
{
    char out[64];
    process_label(out, sizeof out, "/proc", (uint32_t)getpid());
    CHECK_STR(out, "test_proclabel");
}
