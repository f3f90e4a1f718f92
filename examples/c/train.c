/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - a small training program with all the parts of a big one: an input pipeline with its
 * own threads, steps of forward, backward and optimizer, evaluation and a checkpoint per epoch.
 * It is here to be watched. The same seed always gives the same losses. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "digits.h"
#include "loader.h"
#include "net.h"
#include "options.h"
#include "phases.h"
#include "stop.h"

enum {
    EPOCH_SAMPLES = 4096,
    EVAL_SAMPLES = 1024,
    SLOW_FETCH_MS = 100,
    EXIT_USAGE = 2,
};

static const float learning_rate = 0.05f, momentum = 0.9f;

/* Evaluation must never see a training sample: it draws from a seed of its own. */
static const uint64_t eval_seed_change = 0x65766c;

struct session {
    struct options options;
    struct phases phases;
    struct stop stop;
    struct checkpoint_dir dir;
    struct net *net;
    struct loader *loader;
    struct batch eval; /* EVAL_SAMPLES of them, drawn once */
    uint64_t samples;  /* trained on so far */
};

/* What an epoch came to. */
struct epoch {
    double loss, accuracy;
    double seconds, wait_s;
    uint64_t samples;
};

static const struct batch *wait_for_batch(struct session *s)
{
    phases_begin(&s->phases, PHASE_DATA_WAIT);
    const struct batch *b = loader_take(s->loader);
    phases_end(&s->phases, PHASE_DATA_WAIT);
    return b;
}

static double learn(struct session *s, const struct batch *b)
{
    phases_begin(&s->phases, PHASE_FORWARD);
    const struct net_score score = net_forward(s->net, b->pixels, b->labels, b->count);
    phases_end(&s->phases, PHASE_FORWARD);

    phases_begin(&s->phases, PHASE_BACKWARD);
    net_backward(s->net, b->pixels, b->labels, b->count);
    phases_end(&s->phases, PHASE_BACKWARD);

    phases_begin(&s->phases, PHASE_OPTIMIZER);
    net_update(s->net, learning_rate, momentum);
    phases_end(&s->phases, PHASE_OPTIMIZER);
    return score.loss_sum;
}

static void train_step(struct session *s, struct epoch *e)
{
    phases_step_begin(&s->phases);
    const struct batch *b = wait_for_batch(s);
    e->loss += learn(s, b);
    e->samples += b->count;
    loader_give_back(s->loader);
    phases_step_end(&s->phases);
}

static double evaluate(struct session *s)
{
    phases_begin(&s->phases, PHASE_EVAL);
    const size_t batch = (size_t)s->options.batch;
    size_t correct = 0;
    for (size_t at = 0; at < EVAL_SAMPLES; at += batch) {
        const size_t count = EVAL_SAMPLES - at < batch ? EVAL_SAMPLES - at : batch;
        correct +=
            net_forward(s->net, s->eval.pixels + at * DIGIT_PIXELS, s->eval.labels + at, count)
                .correct;
    }
    phases_end(&s->phases, PHASE_EVAL);
    return (double)correct / EVAL_SAMPLES;
}

static int save(struct session *s)
{
    phases_begin(&s->phases, PHASE_CHECKPOINT);
    const int rc = checkpoint_save(&s->dir, s->net);
    phases_end(&s->phases, PHASE_CHECKPOINT);
    return rc;
}

/* Goes through one epoch, or through less when it is time to stop; at least one step. */
static int run_epoch(struct session *s, struct epoch *out)
{
    struct epoch e = {0};
    const double begin_s = phases_clock_s(), waited_s = s->phases.spent_s[PHASE_DATA_WAIT];
    do
        train_step(s, &e);
    while (e.samples < EPOCH_SAMPLES && !stop_is_due(&s->stop, phases_clock_s()));
    e.seconds = phases_clock_s() - begin_s;
    e.wait_s = s->phases.spent_s[PHASE_DATA_WAIT] - waited_s;
    e.loss /= (double)e.samples;
    e.accuracy = evaluate(s);
    s->samples += e.samples;
    *out = e;
    return save(s);
}

static void print_epoch(uint64_t number, const struct epoch *e)
{
    printf("epoch %3llu  loss %.6f  accuracy %5.1f %%  %7.0f samples/s  data wait %4.1f %%\n",
           (unsigned long long)number, e->loss, e->accuracy * 100, (double)e->samples / e->seconds,
           e->wait_s / e->seconds * 100);
}

static void print_summary(const struct session *s)
{
    const double total_s = phases_clock_s() - s->phases.start_s;
    printf("done: %llu steps, %llu samples in %.1f s\n", (unsigned long long)s->phases.steps,
           (unsigned long long)s->samples, total_s);
    for (enum phase p = 0; p < PHASES && !s->options.quiet; p++)
        printf("  %-10s %5.1f %%\n", phases_name(p), s->phases.spent_s[p] / total_s * 100);
    if (!s->dir.temporary)
        printf("checkpoint in %s\n", s->dir.path);
}

static int run_training(struct session *s)
{
    uint64_t number = 0;
    do {
        struct epoch e;
        if (run_epoch(s, &e) != 0)
            return -1;
        number++;
        if (!s->options.quiet)
            print_epoch(number, &e);
    } while ((double)number < s->options.epochs && !stop_is_due(&s->stop, phases_clock_s()));
    print_summary(s);
    return 0;
}

static int draw_eval(struct batch *b, uint64_t seed)
{
    b->count = EVAL_SAMPLES;
    b->pixels = calloc(EVAL_SAMPLES, DIGIT_PIXELS * sizeof *b->pixels);
    b->labels = calloc(EVAL_SAMPLES, sizeof *b->labels);
    if (!b->pixels || !b->labels)
        return -1;
    digits_draw_many(seed ^ eval_seed_change, 0, EVAL_SAMPLES, b->pixels, b->labels);
    return 0;
}

/* Everything a session needs, or -1 with errno set; session_close is called in any case. */
static int session_open(struct session *s)
{
    const struct options *o = &s->options;
    const struct net_shape shape = {
        .inputs = DIGIT_PIXELS,
        .hidden = (size_t)o->hidden,
        .classes = DIGIT_CLASSES,
        .batch = (size_t)o->batch,
    };
    const struct loader_setup setup = {
        .batch = (size_t)o->batch,
        .workers = (size_t)o->workers,
        .seed = (uint64_t)o->seed,
        .fetch_ms = o->slow_input ? SLOW_FETCH_MS : 0,
    };
    s->net = net_open(&shape, (uint64_t)o->seed);
    if (!s->net || draw_eval(&s->eval, (uint64_t)o->seed) != 0)
        return -1;
    s->loader = loader_open(&setup);
    return s->loader ? 0 : -1;
}

static void session_close(struct session *s)
{
    loader_close(s->loader);
    net_close(s->net);
    free(s->eval.pixels);
    free(s->eval.labels);
}

static int run_session(struct session *s)
{
    if (checkpoint_dir_open(&s->dir, s->options.out) != 0)
        return -1;
    int rc = session_open(s);
    if (rc == 0)
        rc = run_training(s);
    else
        fprintf(stderr, "train: cannot start: %s\n", strerror(errno));
    session_close(s);
    checkpoint_dir_close(&s->dir);
    return rc;
}

int main(int argc, char **argv)
{
    struct session s = {0};
    switch (options_read(&s.options, argc, argv)) {
    case OPTIONS_HELP:
        return EXIT_SUCCESS;
    case OPTIONS_BAD:
        return EXIT_USAGE;
    case OPTIONS_GO:
        break;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* epochs appear as they end, on a pipe too */
    phases_start(&s.phases);
    const double limit_s = s.options.seconds;
    stop_start(&s.stop, limit_s > 0 ? s.phases.start_s + limit_s : HUGE_VAL);
    const int rc = run_session(&s);
    stop_finish(&s.stop);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
