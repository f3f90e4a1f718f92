/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - whose program is at the other end of a connection within this machine. */
#ifndef SERVE_PEER_H
#define SERVE_PEER_H

/* How sure we are. Only PEER_OURS may do anything. */
enum peer {
    PEER_OURS,    /* a socket of this user or root, open now */
    PEER_OTHERS,  /* another user's, or without an owner: closed, reset, or in another network
                     namespace */
    PEER_UNKNOWN, /* the system does not say whose connections are whose */
};

enum peer peer_of(int fd);

#endif
