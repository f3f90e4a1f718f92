/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - a fully connected network with two hidden layers, trained by SGD with momentum.
 * One training step is net_forward, net_backward, net_update, in that order, on one batch.
 * Not for two threads at once. */
#ifndef NET_H
#define NET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct net;

struct net_shape {
    size_t inputs, hidden, classes;
    size_t batch; /* most samples that net_forward may be given at once */
};

/* NULL when there is no memory. The same seed gives the same weights. */
struct net *net_open(const struct net_shape *shape, uint64_t seed);
void net_close(struct net *n); /* NULL is fine */

struct net_score {
    double loss_sum; /* cross entropy, summed over the samples */
    size_t correct;
};

/* Runs x[count][inputs] through the network; what it leaves behind is used by net_backward. */
struct net_score net_forward(struct net *n, const float *x, const uint8_t *labels, size_t count);

/* Gradient of the mean loss, for the batch last given to net_forward. */
void net_backward(struct net *n, const float *x, const uint8_t *labels, size_t count);

/* One step of gradient descent. */
void net_update(struct net *n, float learning_rate, float momentum);

/* All weights, as the machine stores them. 0, or -1 with errno set. */
int net_write(const struct net *n, FILE *f);

#endif
