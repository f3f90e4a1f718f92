/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/machines.h"
#include "test.h"

#define HEAD "machine,cores,memory_gib,price_per_hour\n"

static void check_refused(const char *text, const char *says)
{
    struct arena a = {0};
    struct machines t;
    struct err e;
    CHECK(machines_parse(&t, text, "m.csv", &a, &e) != 0);
    CHECK(strstr(e.msg, says));
    arena_free(&a);
}

TEST(columns_may_stand_in_any_order_and_comments_are_left_out)
{
    struct arena a = {0};
    struct machines t;
    struct err e;
    OK(machines_parse(&t,
                      "# mine\n\nprice_per_hour, cores,machine,memory_gib,gpus,gpu\r\n"
                      "1.5, 8 ,a b,32,2,V100\n# more\n2,4,c,16,,\n",
                      "m.csv", &a, &e));
    CHECK_INT(t.n, 2);
    CHECK_STR(t.v[0].name, "a b");
    NEAR(t.v[0].price_per_hour, 1.5, 0);
    NEAR(t.v[0].cores, 8, 0);
    NEAR(t.v[0].gpus, 2, 0);
    CHECK_STR(t.v[0].gpu, "V100");
    CHECK(isnan(t.v[0].gpu_tflops) && isnan(t.v[1].gpu_memory_gib));
    NEAR(t.v[1].gpus, 0, 0);
    CHECK_STR(t.v[1].gpu, "");
    arena_free(&a);
}

TEST(what_is_wrong_is_said_with_its_line)
{
    check_refused("", "no header line");
    check_refused("machine,cores,memory_gib\n", "m.csv, line 1: price_per_hour: missing column");
    check_refused("machine,cores,speed\n", "unknown column 'speed'");
    check_refused("machine,cores,cores\n", "cores: duplicate column");
    check_refused(HEAD "#\na,8,32,dear\n", "m.csv, line 3: price_per_hour: 'dear' is not a number");
    check_refused(HEAD "a,8,32,-1\n", "'-1' is not a number from 0");
    check_refused(HEAD "a,8,32,nan\n", "'nan' is not a number from 0");
    check_refused(HEAD "a,8,32\n", "line 2: fewer values than columns");
    check_refused(HEAD "a,8,32,1,2\n", "line 2: more values than columns");
    check_refused(HEAD "a,,32,1\n", "cores: missing value");
    check_refused(HEAD "a,8,32,1\nml.a,8,32,1\n", "line 3: ml.a: duplicate machine");
}

TEST(a_machine_is_found_with_and_without_its_prefix)
{
    struct arena a = {0};
    struct machines t;
    struct err e;
    OK(machines_parse(&t, HEAD "p3.2xlarge,8,61,3\n", "m.csv", &a, &e));
    CHECK(machines_find(&t, "ml.p3.2xlarge") == &t.v[0]);
    CHECK(machines_find(&t, "p3.2xlarge") == &t.v[0]);
    CHECK(!machines_find(&t, "p3"));
    CHECK_INT(machines_unknown(&t, "p3.2xlagre", &e), ERR_USAGE);
    CHECK(strstr(e.msg, "unknown machine 'p3.2xlagre' in m.csv (did you mean 'p3.2xlarge'?)"));
    arena_free(&a);
}

TEST(gpus_are_the_same_when_the_drivers_name_has_the_word)
{
    const struct machine v100 = {.gpu = "V100"}, l4 = {.gpu = "L4"}, none = {.gpu = ""},
                         driver = {.gpu = "Tesla V100-SXM2-16GB"}, l40 = {.gpu = "NVIDIA L40S"};
    CHECK(machine_same_gpu(&v100, &driver) && machine_same_gpu(&driver, &v100));
    CHECK(!machine_same_gpu(&l4, &l40));
    CHECK(!machine_same_gpu(&none, &driver) && !machine_same_gpu(&none, &none));
}

TEST(the_table_of_the_program_has_prices_of_machines_with_and_without_gpus)
{
    struct arena a = {0};
    struct machines t;
    struct err e;
    unsetenv("FOOTPLATE_MACHINES");
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    OK(machines_load(&t, NULL, &a, &e));
    CHECK(t.n >= 12);
    const struct machine *m = machines_find(&t, "p3.8xlarge");
    CHECK(m != NULL);
    NEAR(m->price_per_hour, 14.688, 1e-9);
    NEAR(m->gpus, 4, 0);
    arena_free(&a);
}
