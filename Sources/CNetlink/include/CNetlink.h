// Changes of the machine's addresses and routes, by rtnetlink(7).
#ifndef CNETLINK_H
#define CNETLINK_H

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

// Opens a socket that becomes readable whenever a link, an address or a route changes. It doesn't block, and is closed on exec.
// Returns its descriptor, or -errno; -ENOSYS where the system isn't Linux.
int squall_open_network_changes(void);

// The 32 bits of an IPv6 address at an index from 0 to 3, as they lie in memory.
static inline uint32_t squall_ipv6_word(struct in6_addr address, int index) {
    uint32_t word;
    memcpy(&word, &address.s6_addr[4 * index], sizeof word);
    return word;
}

#endif
