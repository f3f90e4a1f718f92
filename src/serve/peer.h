/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - whose program is at the other end of a connection within this machine. */
#ifndef SERVE_PEER_H
#define SERVE_PEER_H

#include <stdbool.h>

/* False: it is another user's, and neither root's. Where the system does not tell, everybody's
 * counts as ours. */
bool peer_is_ours(int fd);

#endif
