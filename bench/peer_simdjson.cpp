// SPDX-License-Identifier: Apache-2.0
// peer_simdjson FILE ROUNDS: parses plain JSON, as simdjson's DOM, from memory. Prints JSON.
#include <simdjson.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

static double cpu()
{
    rusage r;
    getrusage(RUSAGE_SELF, &r);
    return double(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           double(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const auto text = simdjson::padded_string::load(argv[1]).value();
    simdjson::dom::parser parser;
    double best = 1e9;
    size_t events = 0;
    for (int i = 0; i < atoi(argv[2]); i++) {
        const double begin = cpu();
        simdjson::dom::element root = parser.parse(text).value();
        events = simdjson::dom::array(root["traceEvents"]).size();
        const double took = cpu() - begin;
        best = took < best ? took : best;
    }
    printf("{\"s\": %.6f, \"events\": %zu}\n", best, events);
}
