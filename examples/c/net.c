/* SPDX-License-Identifier: Apache-2.0 */
/* net.c - the network. All weights lie in one array, so the optimizer and the checkpoint need not
 * know about layers; a layer is a view of that array. Loops run along the rows of the weights,
 * which is the order they are stored in. */
#include "net.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

enum { LAYERS = 3 };

/*  out[s][o] = bias[o] + sum over i of in[s][i] * weight[i][o]
 *
 * The hidden layers then cut off what is below zero; the last one becomes probabilities. */
struct layer {
    size_t inputs, outputs;
    float *weight, *bias;           /* parts of net.param */
    float *weight_grad, *bias_grad; /* parts of net.grad */
    float *out;                     /* [batch][outputs] */
    float *delta;                   /* [batch][outputs], d loss / d out before the cut */
};

struct net {
    size_t batch, params;
    float *param, *grad, *velocity; /* [params] */
    float *scratch;                 /* out and delta of all layers */
    struct layer layer[LAYERS];
};

static size_t layer_params(const struct layer *l)
{
    return (l->inputs + 1) * l->outputs;
}

/* He's choice: keeps the size of the signal the same from layer to layer. */
static void layer_init(struct layer *l, struct rng *r)
{
    const float deviation = sqrtf(2.0f / (float)l->inputs);
    for (size_t i = 0; i < l->inputs * l->outputs; i++)
        l->weight[i] = deviation * rng_normal(r);
}

static void layer_forward(struct layer *l, const float *in, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        float *out = l->out + s * l->outputs;
        memcpy(out, l->bias, l->outputs * sizeof *out);
        for (size_t i = 0; i < l->inputs; i++) {
            const float v = in[s * l->inputs + i];
            const float *w = l->weight + i * l->outputs;
            for (size_t o = 0; o < l->outputs; o++)
                out[o] += v * w[o];
        }
    }
}

/* Gradients of this layer's weights, out of its delta. */
static void layer_gradient(struct layer *l, const float *in, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        const float *delta = l->delta + s * l->outputs;
        for (size_t o = 0; o < l->outputs; o++)
            l->bias_grad[o] += delta[o];
        for (size_t i = 0; i < l->inputs; i++) {
            const float v = in[s * l->inputs + i];
            float *g = l->weight_grad + i * l->outputs;
            for (size_t o = 0; o < l->outputs; o++)
                g[o] += v * delta[o];
        }
    }
}

/* The delta of the layer below, which is zero where that layer was cut off. */
static void layer_pass_back(const struct layer *l, struct layer *below, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        const float *delta = l->delta + s * l->outputs;
        for (size_t i = 0; i < l->inputs; i++) {
            const float *w = l->weight + i * l->outputs;
            float sum = 0.0f;
            for (size_t o = 0; o < l->outputs; o++)
                sum += delta[o] * w[o];
            const size_t at = s * l->inputs + i;
            below->delta[at] = below->out[at] > 0.0f ? sum : 0.0f;
        }
    }
}

static void cut_below_zero(float *v, size_t count)
{
    for (size_t i = 0; i < count; i++)
        v[i] = v[i] > 0.0f ? v[i] : 0.0f;
}

static size_t largest(const float *v, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (v[i] > v[best])
            best = i;
    return best;
}

/* Turns scores into probabilities. The largest is subtracted first so that expf cannot overflow. */
static void softmax(float *v, size_t count)
{
    const float top = v[largest(v, count)];
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++) {
        v[i] = expf(v[i] - top);
        sum += v[i];
    }
    for (size_t i = 0; i < count; i++)
        v[i] /= sum;
}

static void lay_out(struct net *n, const struct net_shape *shape)
{
    const size_t width[LAYERS + 1] = {shape->inputs, shape->hidden, shape->hidden, shape->classes};
    n->batch = shape->batch;
    for (size_t k = 0; k < LAYERS; k++) {
        n->layer[k].inputs = width[k];
        n->layer[k].outputs = width[k + 1];
        n->params += layer_params(&n->layer[k]);
    }
}

static int take_memory(struct net *n)
{
    size_t outputs = 0;
    for (size_t k = 0; k < LAYERS; k++)
        outputs += n->layer[k].outputs;
    n->param = calloc(n->params, sizeof *n->param);
    n->grad = calloc(n->params, sizeof *n->grad);
    n->velocity = calloc(n->params, sizeof *n->velocity);
    n->scratch = calloc(outputs * n->batch * 2, sizeof *n->scratch);
    return n->param && n->grad && n->velocity && n->scratch ? 0 : -1;
}

static void point_layers(struct net *n)
{
    size_t at = 0, used = 0;
    for (size_t k = 0; k < LAYERS; k++) {
        struct layer *l = &n->layer[k];
        const size_t weights = l->inputs * l->outputs, room = l->outputs * n->batch;
        l->weight = n->param + at;
        l->bias = l->weight + weights;
        l->weight_grad = n->grad + at;
        l->bias_grad = l->weight_grad + weights;
        l->out = n->scratch + used;
        l->delta = l->out + room;
        at += layer_params(l);
        used += room * 2;
    }
    assert(at == n->params);
}

struct net_score net_forward(struct net *n, const float *x, const uint8_t *labels, size_t count)
{
    assert(count <= n->batch);
    struct net_score score = {0};
    const float *in = x;
    for (size_t k = 0; k < LAYERS; k++) {
        struct layer *l = &n->layer[k];
        layer_forward(l, in, count);
        if (k + 1 < LAYERS)
            cut_below_zero(l->out, count * l->outputs);
        in = l->out;
    }
    const size_t classes = n->layer[LAYERS - 1].outputs;
    for (size_t s = 0; s < count; s++) {
        float *p = n->layer[LAYERS - 1].out + s * classes;
        softmax(p, classes);
        score.loss_sum -= log((double)p[labels[s]] + 1e-12);
        score.correct += largest(p, classes) == labels[s];
    }
    return score;
}

/* Softmax and cross entropy together have the plain derivative: probability minus truth. */
static void loss_delta(struct layer *last, const uint8_t *labels, size_t count)
{
    const float scale = 1.0f / (float)count;
    for (size_t s = 0; s < count; s++) {
        const size_t row = s * last->outputs;
        for (size_t o = 0; o < last->outputs; o++)
            last->delta[row + o] = (last->out[row + o] - (o == labels[s] ? 1.0f : 0.0f)) * scale;
    }
}

void net_backward(struct net *n, const float *x, const uint8_t *labels, size_t count)
{
    assert(count > 0 && count <= n->batch);
    memset(n->grad, 0, n->params * sizeof *n->grad);
    loss_delta(&n->layer[LAYERS - 1], labels, count);
    for (size_t k = LAYERS; k-- > 0;) {
        struct layer *l = &n->layer[k];
        layer_gradient(l, k > 0 ? n->layer[k - 1].out : x, count);
        if (k > 0)
            layer_pass_back(l, &n->layer[k - 1], count);
    }
}

void net_update(struct net *n, float learning_rate, float momentum)
{
    for (size_t i = 0; i < n->params; i++) {
        n->velocity[i] = momentum * n->velocity[i] - learning_rate * n->grad[i];
        n->param[i] += n->velocity[i];
    }
}

int net_write(const struct net *n, FILE *f)
{
    return fwrite(n->param, sizeof *n->param, n->params, f) == n->params ? 0 : -1;
}

struct net *net_open(const struct net_shape *shape, uint64_t seed)
{
    struct net *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    lay_out(n, shape);
    if (take_memory(n) != 0) {
        net_close(n);
        return NULL;
    }
    point_layers(n);
    struct rng r = rng_make(seed, 0);
    for (size_t k = 0; k < LAYERS; k++)
        layer_init(&n->layer[k], &r);
    return n;
}

void net_close(struct net *n)
{
    if (!n)
        return;
    free(n->param);
    free(n->grad);
    free(n->velocity);
    free(n->scratch);
    free(n);
}
