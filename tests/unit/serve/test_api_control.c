/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api_internal.h"
#include "test.h"

static int parse(const char *body, const char **set, struct err *e)
{
    static struct arena a;
    return control_body(body, strlen(body), &a, set, e);
}

TEST(a_request_is_one_text_that_the_recorder_understands)
{
    const char *set;
    struct err e;
    OK(parse("{\"set\": \"interval=100ms\"}", &set, &e));
    CHECK_STR(set, "interval=100ms");
    OK(parse(" {\"set\":\"stop\"} ", &set, &e));
    CHECK_STR(set, "stop");
}

TEST(anything_else_is_refused_with_a_sentence)
{
    static const char *const wrong[] = {
        "",          "[]",
        "null",      "{\"set\": 5}",
        "{}",        "{\"set\": \"fly\"}",
        "{\"set\":", "{\"set\": \"stop\", \"set\": \"status\"}",
        "\"stop\"",  "{\"set\": \"stop\", \"more\": 1}",
        "stop",      "{\"set\": \"stop\"} {\"set\": \"stop\"}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *set;
        struct err e = {0};
        CHECK_INT(parse(wrong[i], &set, &e), ERR_USAGE);
        CHECK(e.msg[0]);
    }
}

TEST(an_answer_that_is_too_large_says_to_ask_for_less)
{
    struct buf b = {.len = ANSWER_MOST};
    struct err e = {0};
    OK(answer_fits(&b, "series", &e));
    b.len++;
    CHECK_INT(answer_fits(&b, "series", &e), ERR_USAGE);
    CHECK(strstr(e.msg, "fewer points"));
}

TEST(words_of_a_parameter_are_those_of_the_list)
{
    static const char *const words[] = {"cpu", "gpu", NULL};
    static const struct route_param param = {"device", PARAM_TEXT};
    struct route_value v = {&param, "gpu", 0};
    const struct route_request q = {.values = &v, .n_values = 1};
    int64_t at = -1;
    struct err e = {0};
    OK(route_word(&q, "device", words, &at, &e));
    CHECK_INT(at, 1);
    OK(route_word(&q, "by", words, &at, &e)); /* not given: stays */
    CHECK_INT(at, 1);
    v.text = "tpu";
    CHECK_INT(route_word(&q, "device", words, &at, &e), ERR_USAGE);
    CHECK(strstr(e.msg, "cpu, gpu"));
}
