/* SPDX-License-Identifier: Apache-2.0 */
/* A program without the page: the empty table below takes the place of the built one. */
#include <string.h>

#include "serve/assets.h"
#include "session/dashboard.h"
#include "test.h"

const struct asset assets[1] = {{0}};
const size_t n_assets = 0;

TEST(without_the_page_no_dashboard_is_started_and_the_message_says_what_to_do)
{
    struct dashboard s;
    struct err e;
    CHECK(!server_has_page());
    CHECK(dashboard_start(&s, "/nonexistent", &e) == ERR_NOT_FOUND);
    CHECK(s.fd == -1);
    CHECK(strstr(e.msg, "built without the dashboard's page"));
    CHECK(strstr(e.msg, "make build"));
    CHECK(strstr(e.msg, "--api-only"));
}
